"""Models of other providers through their own clients, over HTTP: system part, tools, streams, caching, failures."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage
from llmock.pytest_plugin import LLMock
from llmock.scenarios import Fail, Match, Reply

from agents.errors import ConfigError, ModelUnavailable
from agents.models.factory import Endpoint, Parameters, make_model, make_models
from agents.models.reply import Listener, reply
from app.assistant import Assistant
from tests.support.endpoint_talk import PLAN, calls, errors, says, tools, turn
from tests.support.scripted_assistant import said, stage, todos

pytestmark = pytest.mark.slow
ONCE = Endpoint(timeout=60, retries=0)
OTHERS = ["anthropic:m", "google_genai:m"]
EVERY = ["openai:m", *OTHERS]


@pytest.fixture
def served(mock: LLMock, monkeypatch: pytest.MonkeyPatch) -> LLMock:
    """Start a provider, and point every client at it."""
    for name, value in mock.env().items():
        monkeypatch.setenv(name, value)
    return mock


def endpoint(model: str, mock: LLMock, **options: Any) -> Endpoint:
    """Return the endpoint of the model, without retries."""
    return Endpoint(timeout=60, retries=0, base_url=mock.base_url() if model.startswith("openai") else None, **options)


@asynccontextmanager
async def talk(folder: Path, model: str, mock: LLMock, **options: Any) -> AsyncIterator[Assistant]:
    """Open the application with a model of some provider."""
    async with stage(folder / "talk.db", make_models(model, {}, None, endpoint(model, mock), **options)) as assistant:
        yield assistant


def offers(mock: LLMock) -> list[dict[str, Any]]:
    """Return the requests that offer tools: those of the supervisor and the dialogs."""
    return [record.body for record in mock.requests if "tools" in record.body]


async def work(assistant: Assistant, mock: LLMock) -> None:
    """Play two turns, with a handoff and a tool."""
    mock.add(PLAN, says("What shall I put down?"))
    assert said(await turn(assistant, "something for the week")) == ["What shall I put down?"]
    mock.add(calls("add_todos", items=["milk"]), says("Noted."))
    events = await turn(assistant, "put down milk")
    assert (tools(events), said(events), errors(events)) == ([("add_todos", True)], ["Noted."], [])
    assert await todos(assistant) == ["milk"]


@pytest.mark.parametrize("model", OTHERS)
async def test_a_whole_conversation(served: LLMock, tmp_path: Path, model: str) -> None:
    """Handoff, tool and words work as with OpenAI; every request has one system part and roles in turns."""
    async with talk(tmp_path, model, served) as assistant:
        await work(assistant, served)
    assert len(offers(served)) == 4
    for body in (record.body for record in served.requests):
        history = body.get("messages") or body["contents"]
        roles = [message["role"] for message in history]
        assert body.get("system") or body.get("systemInstruction")
        assert "system" not in roles
        assert roles[0] == "user"
        assert all(first != second for first, second in pairwise(roles))


async def test_anthropic_is_asked_to_keep_the_prompt(served: LLMock, tmp_path: Path) -> None:
    """Marks stand at the role, at the end of what the next turn repeats, and at the end; four are allowed."""
    async with talk(tmp_path, "anthropic:m", served) as assistant:
        await work(assistant, served)
        served.add(says("Gladly."))
        await turn(assistant, "thanks")
    mark = {"type": "ephemeral"}
    for body in (record.body for record in served.requests):
        assert body["cache_control"] == mark
        assert body["system"][-1]["cache_control"] == mark
        assert str(body).count("cache_control") <= 4
    *before, newest = offers(served)[-1]["messages"]
    assert before[-1]["content"][-1]["cache_control"] == mark
    assert "cache_control" not in str(newest)


async def test_openai_is_told_which_calls_belong_together(served: LLMock, tmp_path: Path) -> None:
    """The calls of one role in one thread have one key; it says nothing about either."""
    async with talk(tmp_path, "openai:m", served) as assistant:
        await work(assistant, served)
    keys = [body["prompt_cache_key"] for body in offers(served)]
    supervisor, planner, *more = keys
    assert supervisor != planner
    assert set(more) == {planner}
    assert all(re.fullmatch(r"[0-9a-f]{32}", key) for key in keys)
    assert all("prompt_cache_key" in record.body for record in served.requests)


@pytest.mark.parametrize("model", ["openai:m", "anthropic:m"])
async def test_caching_can_be_left_out(served: LLMock, model: str) -> None:
    """With PROMPT_CACHE=0 no request speaks of it."""
    asked = make_model(model, endpoint(model, served, caching=False))
    prompt: list[AnyMessage] = [SystemMessage("Be kind."), HumanMessage("hello")]
    await reply([asked], prompt, [], Listener("x", lambda _: None, thread="t"))
    assert "cache" not in str(served.requests[-1].body)


# OpenAI's are in `test_faults.py`; the Google client leaves the connection of a failure open.
@pytest.mark.parametrize(
    ("status", "message", "trouble"),
    [
        (401, "no", "key_refused"),
        (403, "no", "key_refused"),
        (429, "slow down", "busy"),
        (503, "later", "busy"),
        (404, "no such model", "unavailable"),
        (400, "prompt is too long: the context window is full", "too_long"),
    ],
)
async def test_failures_are_sorted_alike(served: LLMock, status: int, message: str, trouble: str) -> None:
    """Whatever a provider's client raises, the operator reads the same word."""
    served.add(Fail(status, message=message, times=None))
    with pytest.raises(ModelUnavailable) as failure:
        await ask("anthropic:m", served)
    assert failure.value.trouble == trouble


async def test_nobody_there_is_unavailable(served: LLMock, closed_port: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that is not there is a failure, not an error of ours."""
    monkeypatch.setenv("ANTHROPIC_BASE_URL", closed_port)
    with pytest.raises(ModelUnavailable) as failure:
        await ask("anthropic:m", served)
    assert failure.value.trouble == "unavailable"


@pytest.mark.parametrize("kind", ["truncate", "disconnect"])
async def test_a_cut_stream_is_asked_for_again(served: LLMock, kind: Any) -> None:
    """A stream that ends early is never taken for a reply."""
    getattr(served, kind)(after_chunks=1)
    assert await ask("anthropic:m", served) == "stay"
    assert len(served.requests) == 2


async def ask(model: str, mock: LLMock) -> str:
    """Return the model's answer to a greeting."""
    prompt: list[AnyMessage] = [SystemMessage("Be kind."), HumanMessage("hello")]
    return (await reply([make_model(model, endpoint(model, mock))], prompt, [], Listener("x", lambda _: None))).text


async def test_parameters_are_sent(served: LLMock) -> None:
    """Each role's parameters reach the provider under its own names."""
    served.add(Reply(text="Yes.", times=None, match=Match()))
    parameters = {
        "default": Parameters(temperature=0.5, max_tokens=77),
        "observer": Parameters(max_tokens=7, temperature=None),
    }
    for model in EVERY:
        models = make_models(model, {}, None, endpoint(model, served), parameters)
        for role in ("planner", "observer"):
            prompt: list[AnyMessage] = [SystemMessage("Be kind."), HumanMessage("hello")]
            await reply(models.chain(role), prompt, [], Listener(role, lambda _: None))
    openai, watching, anthropic, watched, google, seen = (record.body for record in served.requests)
    assert (openai["temperature"], openai["max_completion_tokens"]) == (0.5, 77)
    assert ("temperature" in watching, watching["max_completion_tokens"]) == (False, 7)
    assert (anthropic["temperature"], anthropic["max_tokens"], watched["max_tokens"]) == (0.5, 77, 7)
    assert google["generationConfig"]["maxOutputTokens"] == 77
    assert seen["generationConfig"]["maxOutputTokens"] == 7


async def test_calls_side_by_side_can_be_forbidden(served: LLMock) -> None:
    """`parallel_tool_calls` goes with the tools only, since a provider refuses it without them."""
    served.add(Reply(text="Yes.", times=None, match=Match()))
    tool = {"type": "function", "function": {"name": "f", "description": "F.", "parameters": {"type": "object"}}}
    for model in ("openai:m", "anthropic:m"):
        asked = make_model(model, endpoint(model, served), Parameters(parallel_tool_calls=False))
        for offered in ([tool], []):
            await reply(
                [asked], [SystemMessage("Be kind."), HumanMessage("hi")], offered, Listener("x", lambda _: None)
            )
    openai, bare, anthropic, _ = (record.body for record in served.requests)
    assert openai["parallel_tool_calls"] is False
    assert "parallel_tool_calls" not in bare
    assert anthropic["tool_choice"]["disable_parallel_tool_use"] is True


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("groq:m", "pip install langchain langchain-groq"),
        ("nobody:m", "Unsupported provider"),
        ("anthropic:", "LLM_MODEL"),
        ("anthropic:m", "ANTHROPIC_API_KEY"),
        ("google_genai:m", "GOOGLE_API_KEY"),
    ],
)
async def test_what_is_missing_is_named(model: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing package or key, or a provider that nobody knows, is one line for the operator."""
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "GOOGLE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ConfigError, match=words) as wrong:
        make_model(model, ONCE)
    assert "\n" not in str(wrong.value)


async def test_a_parameter_that_a_model_does_not_take_is_named(served: LLMock) -> None:
    """It is refused at start rather than left out in silence."""
    with pytest.raises(ConfigError, match="google_genai:m takes no parallel_tool_calls"):
        make_model("google_genai:m", ONCE, Parameters(parallel_tool_calls=True))
