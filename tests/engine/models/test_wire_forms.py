"""Each form of request and reply, against strict servers: the data sent back, and the form of the request."""

import json
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from pydantic import SecretStr

from agents.errors import ConfigError
from agents.events import ModelEnd
from agents.models import Model
from agents.models.factory import Endpoint, Parameters, make_model, make_models
from agents.models.reply import Listener, reply
from app.assistant.run import config_of
from tests.support import wire_forms
from tests.support.endpoint_talk import TEXT, errors, tools, turn
from tests.support.odd_provider import Answer, Provider, Reply
from tests.support.scripted_assistant import THREAD, said, stage, todos
from tests.support.wire_forms import SEAL, SECRET, deepseek, events, responses

LISTENER = Listener("supervisor", lambda event: None)
PROMPT: list[AnyMessage] = [SystemMessage("You are kind."), HumanMessage("hi")]
TOOL = {"type": "function", "function": {"name": "f", "description": "F.", "parameters": {"type": "object"}}}


def endpoint(url: str) -> Endpoint:
    """Return the endpoint of a server, without retries."""
    return Endpoint(key=SecretStr("key"), base_url=url, timeout=60, retries=0)


def model_at(url: str, **parameters: Any) -> Model:
    """Return a model of a server."""
    return make_model("openai:m", endpoint(url), Parameters(**parameters))


def counting(answer: Answer, refused: list[Reply]) -> Answer:
    """Return the answer, which counts what it refuses."""

    def counted(body: dict[str, Any]) -> Reply:
        given = answer(body)
        if isinstance(given, bytes) and not given.startswith(b"HTTP/1.1 200"):
            refused.append(given)
        return given

    return counted


@pytest.mark.parametrize(
    ("answer", "wire", "refusals"),
    [
        pytest.param(wire_forms.deepseek, None, 0, id="DeepSeek's thinking"),
        pytest.param(wire_forms.gemini, None, 0, id="Gemini's signatures"),
        pytest.param(wire_forms.openrouter, None, 0, id="OpenRouter's details"),
        pytest.param(wire_forms.litellm, None, 0, id="LiteLLM's thinking"),
        pytest.param(wire_forms.with_data_in_ids, None, 0, id="LiteLLM's ids"),
        pytest.param(wire_forms.filled, None, 0, id="no null content"),
        pytest.param(wire_forms.responses, "responses", 0, id="OpenAI's responses"),
        pytest.param(wire_forms.responses, None, 1, id="responses only"),
        pytest.param(wire_forms.closed, None, 1, id="takes no thinking back"),
    ],
)
@pytest.mark.needs("planner")
async def test_a_talk_with_calls_is_whole(tmp_path: Path, answer: Answer, wire: Any, refusals: int) -> None:
    """Two turns, one with two calls: each does its work once, nothing hidden is shown or kept in the open.

    What a server refuses is learnt from its first refusal; a second talk with it has none.
    """
    refused: list[Reply] = []
    async with Provider.open(counting(answer, refused)) as server:
        parameters = {"default": Parameters(wire=wire)}
        for talk in ("first", "second"):
            models = make_models("openai:m", {}, None, endpoint(server.url), parameters)
            async with stage(tmp_path / f"{talk}.db", models) as assistant:
                wishes = await turn(assistant, "put down something for the week, namely milk")
                assert (tools(wishes), said(wishes)) == ([("add_todos", True)], ["Noted."])
                assert said(await turn(assistant, "thanks")) == ["Gladly."]
                assert await todos(assistant) == ["milk"]
                kept = (
                    f"{wishes} {await assistant.history(THREAD)} {await assistant.graph.aget_state(config_of(THREAD))}"
                )
                assert SECRET not in kept
                assert SEAL not in kept
            assert len(refused) == refusals


async def test_a_call_that_another_model_made_is_taken() -> None:
    """DeepSeek wants a field of thinking in each reply of the history: what it says is learnt, and remembered."""
    call = {"name": "f", "args": {}, "id": "a", "type": "tool_call"}
    history: list[AnyMessage] = [
        SystemMessage("You are kind."),
        HumanMessage("hi"),
        AIMessage("", tool_calls=[call]),
        ToolMessage("done", tool_call_id="a"),
        AIMessage("Done."),
        HumanMessage("and now?"),
    ]
    async with Provider.open(deepseek) as server:
        model = model_at(server.url)
        for requests in (2, 3):
            assert (await reply([model], history, [TOOL], LISTENER)).text == "Gladly."
            assert len(server.bodies) == requests
        replies = [message for message in server.bodies[-1]["messages"] if message["role"] == "assistant"]
        assert all(message["reasoning_content"] == " " for message in replies)


async def test_thinking_is_sent_to_its_own_model_only() -> None:
    """The prompt of a model has nothing that another model's server gave."""
    wish: list[AnyMessage] = [SystemMessage("You are kind."), HumanMessage("milk")]
    tool = {"type": "function", "function": {**TOOL["function"], "name": "add_todos"}}  # type: ignore[dict-item]
    async with Provider.open(deepseek) as server, Provider.open(wire_forms.filled) as other:
        call = await reply([model_at(server.url)], wish, [tool], LISTENER)
        history: list[AnyMessage] = [*wish, call, ToolMessage("done", tool_call_id=call.tool_calls[0]["id"] or "")]
        assert (await reply([model_at(server.url)], history, [tool], LISTENER)).text == "Noted."
        assert (await reply([make_model("openai:o", endpoint(other.url))], history, [tool], LISTENER)).text == "Noted."
        assert SECRET in json.dumps(server.bodies[-1])
        assert SECRET not in json.dumps(other.bodies[-1])


async def test_a_response_is_asked_for_without_memory() -> None:
    """Nothing is stored; the cache key, the limit and the effort go along under their names; usage is read."""
    ended: list[ModelEnd] = []
    listener = Listener(
        "supervisor", lambda event: ended.append(event) if isinstance(event, ModelEnd) else None, thread="t"
    )
    async with Provider.open(responses) as server:
        model = model_at(server.url, wire="responses", reasoning_effort="low", parallel_tool_calls=False)
        assert (await reply([model], PROMPT, [TOOL], listener)).text == "Gladly."
        (body,) = server.bodies
    assert (body["store"], body["include"]) == (False, ["reasoning.encrypted_content"])
    assert body["prompt_cache_key"] == listener.cache_key
    assert (body["max_output_tokens"], body["reasoning"], body["parallel_tool_calls"]) == (
        1024,
        {"effort": "low"},
        False,
    )
    assert not body.keys() & {"messages", "max_tokens", "stream_options", "reasoning_effort"}
    assert body["tools"][0]["name"] == "f"
    assert [(end.input_tokens, end.output_tokens, end.cached_tokens) for end in ended] == [(1100, 7, 1024)]


@pytest.mark.parametrize(
    ("first", "outcome"),
    [
        pytest.param(events(wire_forms.said(TEXT), last=""), (TEXT, ["model_retry"]), id="breaks off"),
        pytest.param(events(wire_forms.said("One"), last="failed"), (TEXT, ["model_retry"]), id="fails"),
        pytest.param(
            events(wire_forms.said(TEXT), last="incomplete", reason="max_output_tokens"),
            (TEXT, ["cut_length"]),
            id="cut",
        ),
        pytest.param(
            events(wire_forms.said(TEXT), last="incomplete", reason="content_filter"),
            (TEXT, ["cut_filter"]),
            id="filter",
        ),
        pytest.param(events(wire_forms.said(TEXT, "refusal")), (TEXT, []), id="refusal"),
    ],
)
async def test_how_a_response_ends(tmp_path: Path, first: bytes, outcome: tuple[str, list[str]]) -> None:
    """A response says by its status whether it is whole; its refusal is its answer."""
    async with Provider.open(first, events(wire_forms.said(TEXT))) as server:
        models = make_models("openai:m", {}, None, endpoint(server.url), {"default": Parameters(wire="responses")})
        async with stage(tmp_path / "talk.db", models) as assistant:
            told = await turn(assistant, "hi")
            assert (said(told), errors(told)) == ([outcome[0]], outcome[1])


async def test_completions_are_asked_for_where_nothing_else_is_served() -> None:
    """A server without the path of responses is asked in the other form, once and for all."""
    missing = b"HTTP/1.1 404 X\r\nContent-Type: text/plain\r\nContent-Length: 9\r\nConnection: close\r\n\r\nNot Found"
    answer: Answer = lambda body: missing if "input" in body else wire_forms.filled(body)  # noqa: E731
    async with Provider.open(answer) as server:
        for requests in (2, 3):
            model = model_at(server.url, wire="responses")
            assert (await reply([model], PROMPT, [TOOL], LISTENER)).text == "Gladly."
            assert len(server.bodies) == requests


@pytest.mark.parametrize(
    ("base_url", "wire", "form"),
    [
        (None, None, "responses"),
        ("https://api.openai.com/v1", None, "responses"),
        ("https://eu.api.openai.com/v1", None, "responses"),
        ("https://api.openai.com.example.org/v1", None, "chat"),
        ("http://127.0.0.1:1/v1", None, "chat"),
        (None, "chat", "chat"),
        ("http://127.0.0.1:1/v1", "responses", "responses"),
    ],
)
def test_which_form_is_asked_first(base_url: str | None, wire: Any, form: str) -> None:
    """OpenAI's own models are asked for responses, all others for completions, unless the operator says which."""
    model = make_model("openai:m", Endpoint(key=SecretStr("key"), base_url=base_url), Parameters(wire=wire))
    assert model.wire == form


def test_a_model_that_seals_nothing_is_not_asked_to() -> None:
    """A model that does not think refuses the request for sealed reasoning; LangChain's profile says which it is."""
    own = Endpoint(key=SecretStr("key"))
    asked = {
        name: getattr(make_model(f"openai:{name}", own).chat, "include", None) for name in ("gpt-4o", "gpt-5-mini")
    }
    assert asked == {"gpt-4o": None, "gpt-5-mini": ["reasoning.encrypted_content"]}


def test_other_forms_have_no_wire(monkeypatch: pytest.MonkeyPatch) -> None:
    """The parameter is for servers of OpenAI's kind."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    with pytest.raises(ConfigError, match="anthropic:m takes no wire"):
        make_model("anthropic:m", Endpoint(), Parameters(wire="chat"))
