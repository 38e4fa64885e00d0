"""A model that takes less text than there is: the history is cut and the user answered, or told what to do."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage

from agents.errors import ModelUnavailable, Overflow
from agents.models.factory import Endpoint, make_models
from agents.models.reply import Listener
from agents.models.reply import reply as reply_of
from agents.state.history import cut_harder, dangling
from app.assistant import Assistant
from tests.support import odd_provider
from tests.support.endpoint_talk import endpoint_model, errors, heard
from tests.support.odd_provider import Answer, Provider, refuse
from tests.support.refusing_server import refused
from tests.support.scripted_assistant import open_calls, play, said, stage

WORDINGS = [
    (400, {"message": "too long", "code": "context_length_exceeded"}),
    (400, {"message": "This model's maximum context length is 4096 tokens. However, you requested 9000 tokens."}),
    (400, {"message": "the request exceeds the available context size", "type": "exceed_context_size_error"}),
    (413, {"message": "Request too large for model `m`"}),
]


SAID = [
    ("This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.", 8192, 9001),
    ("Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 333336.", 272000, 333336),
    ("This model's maximum context length is 4096 tokens. However, you requested 9000 tokens (8900 in", 4096, 8900),
    ("maximum context length is 4096 tokens and your request has 4000 input tokens (200 > 4096 - 4000).", 4096, 4000),
    ("The decoder prompt (length 5000) is longer than the maximum model length of 4096.", 4096, 5000),
    ("request (2513 tokens) exceeds the available context size (2048 tokens), try increasing it", 2048, 2513),
    ("prompt is too long: 213000 tokens > 200000 maximum", 200000, 213000),
    ("input length and `max_tokens` exceed context limit: 198000 + 8192 > 200000", 200000, 198000),
    ("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", 1048576, 1200000),
    ("Prompt contains 40000 tokens, too large for model with 32768 maximum context length", 32768, 40000),
    ("This model's maximum prompt length is 131072 but the request contains 538423 tokens.", 131072, 538423),
    ("`inputs` tokens + `max_new_tokens` must be <= 4097. Given: 5000 `inputs` tokens", 4097, 5000),
    ("Requested tokens (1000) exceed context window of 512", 512, 1000),
    ("The input (5000 tokens) is longer than the model's context length (4096 tokens).", 4096, 5000),
    ("too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5000", 4081, 5000),
    ("Trying to keep the first 5000 tokens, but the model's context length of only 4096 tokens", 4096, 5000),
    ("<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 258048]", 258048, None),
    ("Please reduce the length of the messages. Current length is 9000 while limit is 8192", 8192, 9000),
    ("the input length exceeds the context length", None, None),
    ("Der Kontext ist zu lang.", None, None),
    ("Le contexte dépasse la taille permise.", None, None),
    ("Слишком много токенов в запросе", None, None),
    ("输入内容过长，请缩短后重试", None, None),
    ("El mensaje supera el máximo de tokens", None, None),
    ("Il prompt supera la lunghezza massima del contesto", None, None),
]


def small(limit: int) -> Answer:
    """Return a provider's way to answer: what is longer than so many characters it refuses."""

    def answer(body: dict[str, Any]) -> Sequence[odd_provider.Chunk] | bytes:
        texts = [*heard(body, "user"), *heard(body, "assistant")]
        long = sum(len(text or "") for text in texts) > limit
        return refuse(*WORDINGS[0]) if long else odd_provider.words("Short and good.")

    return answer


def models(url: str) -> Any:
    """Return the models at an address."""
    return make_models("openai:m", {}, None, Endpoint(base_url=url))


async def count(assistant: Assistant) -> int:
    """Return the number of messages in the supervisor's history."""
    talk = (await assistant.graph.aget_state({"configurable": {"thread_id": "t"}})).values["talks"]["supervisor"]
    return len(talk["messages"])


@pytest.mark.parametrize(("status", "problem"), WORDINGS, ids=["openai", "vllm", "llama.cpp", "groq"])
async def test_a_message_that_is_too_long_is_told(tmp_path: Path, status: int, problem: dict[str, str]) -> None:
    """With nothing left to cut the user is asked for fewer words, in friendly ones and in their language."""
    async with (
        Provider.open(refuse(status, problem)) as server,
        stage(tmp_path / "t.db", models(server.url)) as application,
    ):
        events = await play(application, "Привет")
        assert errors(events) == ["too_long"]
        assert "скажите короче" in str(events[-2])
        assert len(server.bodies) == 1


@pytest.mark.parametrize(("message", "window", "prompt"), SAID)
async def test_the_room_is_read_from_the_words(message: str, window: int | None, prompt: int | None) -> None:
    """Servers tell the model's window and the prompt's size in words of many kinds."""
    async with Provider.open(refuse(400, {"message": message})) as server:
        assert await overflow(server.url) == Overflow(window, prompt)


@pytest.mark.parametrize("is_streamed", [False, True])
async def test_the_room_is_read_from_the_fields(is_streamed: bool) -> None:
    """llama.cpp says both in fields; an error in the place of a piece is the same failure."""
    problem = {"message": "too long", "type": "exceed_context_size_error", "n_prompt_tokens": 2513, "n_ctx": 2048}
    reply = [json.dumps({"error": problem})] if is_streamed else refuse(400, problem)
    async with Provider.open(reply) as server:
        assert await overflow(server.url) == Overflow(2048, 2513)
        assert len(server.bodies) == 1


@pytest.mark.parametrize(
    "body",
    [
        {
            "code": "invalid",
            "error": "This model's maximum prompt length is 4096 but the request contains 9000 tokens.",
        },
        [{"error": {"message": "This model's maximum prompt length is 4096; it contains 9000 tokens."}}],
        {"detail": [{"loc": ["body"], "msg": "maximum context length is 4096 tokens, you requested 9000 tokens"}]},
        {"data": {"error": {"message": "too much", "code": "context_length_exceeded", "n_ctx": 4096}}},
    ],
)
async def test_the_room_is_read_from_any_body(body: object) -> None:
    """The words may stand anywhere in an answer, or there is only a code."""
    async with Provider.open(refused(400, body)) as server:
        found = await overflow(server.url)
    assert found
    assert found.window == 4096


async def overflow(url: str) -> Overflow | None:
    """Return the overflow of a request to a server's model."""
    messages: list[AnyMessage] = [SystemMessage("You are kind."), HumanMessage("hi")]
    with pytest.raises(ModelUnavailable, match="too long") as failure:
        await reply_of([endpoint_model(url)], messages, [], Listener("supervisor", lambda event: None))
    return failure.value.overflow


async def test_a_history_that_is_too_long_is_cut(tmp_path: Path) -> None:
    """The same turn is answered with the last quarter of what was said, and the rest is summed up."""
    async with Provider.open(small(400)) as server, stage(tmp_path / "t.db", models(server.url)) as application:
        for number in range(4):
            assert said(await play(application, f"{number} {'word ' * 15}")) == ["Short and good."]
        events = await play(application, f"4 {'word ' * 15}")
        assert errors(events) == ["model_retry"]
        assert said(events) == ["Short and good."]
        # Last of all the model was asked to sum up.
        assert [text[0] for text in heard(server.bodies[-2], "user")] == ["4"]
        assert await count(application) == 2
        assert said(await play(application, "short")) == ["Short and good."]
        assert heard(server.bodies[-1], "user")[1:] == ["short"]
        assert len(await application.history("t")) == 12


async def test_one_long_message_does_not_spoil_the_thread(tmp_path: Path) -> None:
    """The user reads that a message is too long; the next message is answered without it."""
    async with Provider.open(small(400)) as server, stage(tmp_path / "t.db", models(server.url)) as application:
        await play(application, "hi")
        assert errors(await play(application, "word " * 200)) == ["model_retry", "too_long"]
        events = await play(application, "shorter")
        assert said(events) == ["Short and good."]
        assert heard(server.bodies[-2], "user") == ["shorter"]
        assert said(await play(application, "again")) == ["Short and good."]
        assert await open_calls(application) == []


async def test_a_roomier_fallback_is_asked_first(tmp_path: Path) -> None:
    """Nothing is cut where the fallback model takes it all."""
    async with Provider.open(small(400)) as server, Provider.open(odd_provider.words("All of it.")) as roomy:
        chain = models(server.url)
        whole = make_models("openai:m", {}, "openai:n", Endpoint(base_url=roomy.url))
        both = type(chain)(chain.default, chain.roles, whole.fallback)
        async with stage(tmp_path / "t.db", both) as application:
            for _ in range(2):
                events = await play(application, "word " * 60)
            assert errors(events) == ["model_retry"]
            assert said(events) == ["All of it."]
            assert len(heard(roomy.bodies[-1], "user")) == 2


def test_a_cut_leaves_no_call_without_its_answer() -> None:
    """The kept history begins with a user message, and always has the last one."""
    call = AIMessage("", tool_calls=[{"name": "x", "args": {"a": "b" * 90}, "id": "1"}])
    turn: list[AnyMessage] = [HumanMessage("q" * 10), call, ToolMessage("t" * 90, tool_call_id="1"), AIMessage("a")]
    for length in range(1, 4 * len(turn) + 1):
        kept = cut_harder((turn * 4)[:length])
        assert isinstance(kept[0], HumanMessage)
        assert dangling(kept) == dangling((turn * 4)[:length])
    assert cut_harder(turn * 8) == turn * 2
    assert cut_harder([*turn, HumanMessage("x" * 999)]) == [HumanMessage("x" * 999)]
    assert cut_harder([AIMessage("hello")]) == [AIMessage("hello")]
