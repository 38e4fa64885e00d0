"""A provider that fails in every way, over real HTTP: each turn ends in an answer or an honest error."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from llmock.pytest_plugin import LLMock
from llmock.scenarios import Behavior, Delay, Fail, Match, Reply, StreamFault, ToolCall, ToolFault
from pydantic import SecretStr

from agents.events import Error, Event, Message, ModelEnd, ModelStart, Token, ToolEnd, TurnEnd
from agents.models.making import Endpoint, make_models
from app.assistant import Assistant, Turn
from tests import provider
from tests.provider import Chunk, Provider
from tests.staging import THREAD, open_calls, play, said, script_lines, stage, todos

# The client library keeps one connection pool for each address, and a pool belongs to one event loop.
pytestmark = pytest.mark.asyncio(loop_scope="module")

SPEAKER = Match(tools=True)
"""Requests of the supervisor and the dialogs; observers are given no tools."""
STREAM = Match(tools=True, stream=True)
TEXT = "One two three four"
SOON = 0.5
"""Seconds: a timeout that a test can wait for."""
LATE = 1.5
"""Seconds: longer than that."""


@pytest.fixture
def mock(llmock: LLMock) -> LLMock:
    """Start a provider whose models say what is laid out; the observers let every dialog go on."""
    return calm(llmock)


@pytest.fixture
def closed_port() -> Iterator[str]:
    """Return the address of a server that is not there."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}/v1"


def calm(mock: LLMock) -> LLMock:
    """Take back all that was laid out."""
    return mock.reset().tool_mode("off").add(Reply(text="stay", times=None, match=Match(tools=False)))


@asynccontextmanager
async def talk(folder: Path, url: str, *, timeout: float = 10, fallback: str | None = None) -> AsyncIterator[Assistant]:
    """Open the application with the model "openai:m" at `url`."""
    endpoint = Endpoint(key=SecretStr("key"), base_url=url, timeout=timeout)
    async with stage(folder / "talk.db", make_models("openai:m", {}, fallback, endpoint)) as assistant:
        yield assistant


def patience(fault: Behavior) -> float:
    """Return a timeout that is short for faults that are a wait."""
    return SOON if isinstance(fault, Delay) or getattr(fault, "kind", "") == "stall" else 10


def says(text: str) -> Reply:
    """Lay out an answer."""
    return Reply(text=text, match=SPEAKER)


def calls(name: str, **args: Any) -> Reply:
    """Lay out a tool call."""
    return Reply(tool_calls=(ToolCall(name, args),), match=SPEAKER)


PLAN = calls("plan_things", brief="to-dos")


async def turn(assistant: Assistant, text: str) -> list[Event]:
    """Play a message; a retry is only announced when it comes, and nothing is left open at the end."""
    events = await play(assistant, text)
    for place, event in enumerate(events):
        if isinstance(event, Error) and event.code == "model_retry":
            assert isinstance(events[place + 1], ModelStart)
    assert isinstance(events[-1], TurnEnd)
    assert await open_calls(assistant) == []
    return events


def errors(events: Sequence[Event]) -> list[str]:
    """Return the codes of what went wrong."""
    return [event.code for event in events if isinstance(event, Error)]


def tools(events: Sequence[Event]) -> list[tuple[str, bool]]:
    """Return the tools that were called, and whether they did their work."""
    return [(event.tool, event.ok) for event in events if isinstance(event, ToolEnd)]


def bodies(mock: LLMock) -> list[dict[str, Any]]:
    """Return what was sent for the supervisor and the dialogs."""
    return [record.body for record in mock.requests if "tools" in record.body]


def heard(body: dict[str, Any], role: str) -> list[str]:
    """Return the texts of a role in a request."""
    return [message["content"] for message in body["messages"] if message["role"] == role]


async def test_a_conversation_with_a_tool_and_a_handover(mock: LLMock, tmp_path: Path) -> None:
    """Streamed text, a streamed hand-over and a streamed tool call make a turn, in three requests."""
    mock.add(PLAN, calls("add_todos", items=["milk and bread and butter"]), says("Noted."), says("Gladly."))
    async with talk(tmp_path, mock.base_url()) as assistant:
        events = await turn(assistant, "put down milk")
        assert errors(events) == []
        assert tools(events) == [("add_todos", True)]
        assert said(events) == ["Noted."]
        assert len(bodies(mock)) == 3
        assert said(await turn(assistant, "thanks")) == ["Gladly."]
        assert await todos(assistant) == ["milk and bread and butter"]
        assert heard(bodies(mock)[-1], "user") == ["put down milk", "thanks"]
    ends = [event for event in events if isinstance(event, ModelEnd)]
    assert all(end.ok and end.input_tokens > 0 and end.output_tokens > 0 for end in ends)
    assert len(ends) == 3
    mock.assert_resilient(strict=True)


async def test_the_answer_streams(mock: LLMock, tmp_path: Path) -> None:
    """The pieces of an answer reach the user as they come, and make up the message."""
    mock.add(says(TEXT))
    async with talk(tmp_path, mock.base_url()) as assistant:
        events = await turn(assistant, "hi")
    pieces = [event.text for event in events if isinstance(event, Token)]
    assert len(pieces) == 4
    assert ["".join(pieces)] == said(events) == [TEXT]


async def test_the_provider_is_sent_what_the_protocol_knows(mock: LLMock, tmp_path: Path) -> None:
    """No request carries what is ours: neither the scene for the rules model, nor user, thread or runtime."""
    mock.add(PLAN, calls("add_todos", items=["milk"]), says("Noted."), says("Gladly."))
    async with talk(tmp_path, mock.base_url()) as assistant:
        for text in ("put down milk", "thanks, what now?"):
            async for _ in assistant.play(Turn(thread="thread-7c1", user="user-7c1", text=text)):
                pass
    requests = [record.body for record in mock.requests]
    assert len(requests) == 5
    for body in requests:
        assert body.keys() <= {"model", "stream", "stream_options", "messages", "tools"}
        for message in body["messages"]:
            assert message.keys() <= {"role", "content", "tool_calls", "tool_call_id"}
        plain = json.dumps(body)
        assert not [word for word in ("scene", "additional_kwargs", "runtime", "7c1") if word in plain]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "requests", "retries"),
    [
        pytest.param(Fail(429, retry_after=0.4, times=2), 3, 0, id="429"),
        pytest.param(Fail(500), 2, 0, id="500"),
        pytest.param(Delay(LATE, match=SPEAKER), 2, 0, id="hang"),
        pytest.param(StreamFault("truncate", after_chunks=3, match=STREAM), 2, 1, id="cut in mid-text"),
        pytest.param(StreamFault("disconnect", after_chunks=3, match=STREAM), 2, 1, id="dropped in mid-text"),
        pytest.param(StreamFault("stall", 3, stall_seconds=LATE, match=STREAM), 2, 1, id="stall in mid-text"),
        pytest.param(StreamFault("stall", 0, stall_seconds=LATE, match=STREAM), 2, 1, id="stall before the text"),
        pytest.param(StreamFault("truncate", after_chunks=0, match=STREAM), 2, 1, id="nothing at all"),
        pytest.param(StreamFault("malformed", after_chunks=3, match=STREAM), 2, 1, id="garbled chunk"),
    ],
)
async def test_a_passing_fault_is_got_over(
    mock: LLMock, tmp_path: Path, fault: Behavior, requests: int, retries: int
) -> None:
    """After a fault that passes the user gets the whole answer, once, after as few requests as can be."""
    mock.add(fault, says(TEXT), says(TEXT))
    async with talk(tmp_path, mock.base_url(), timeout=patience(fault)) as assistant:
        events = await turn(assistant, "hi")
        assert said(events) == [TEXT]
        assert errors(events) == ["model_retry"] * retries
        assert len(mock.requests) == requests
        mock.assert_resilient()
        calm(mock).add(says("Still here."))
        assert said(await turn(assistant, "and now?")) == ["Still here."]
        assert await script_lines(assistant) == [
            "user: hi",
            f"supervisor: {TEXT}",
            "user: and now?",
            "supervisor: Still here.",
        ]
        assert heard(bodies(mock)[-1], "assistant") == [TEXT]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "code", "requests", "retries"),
    [
        pytest.param(Fail(429, retry_after=0.1, times=None), "busy", 3, 0, id="429"),
        pytest.param(Fail(500, times=None), "busy", 3, 0, id="500"),
        pytest.param(Delay(LATE, times=None), "busy", 3, 0, id="hang"),
        pytest.param(StreamFault("disconnect", 3, times=None), "busy", 3, 2, id="dropped in mid-text"),
        pytest.param(StreamFault("stall", 3, stall_seconds=LATE, times=None), "busy", 3, 2, id="stall in mid-text"),
        pytest.param(Fail(401, times=None), "key_refused", 1, 0, id="401"),
        pytest.param(Fail(403, times=None), "key_refused", 1, 0, id="403"),
        pytest.param(Fail(404, code="model_not_found", times=None), "unavailable", 1, 0, id="no such model"),
        pytest.param(Fail(400, code="context_length_exceeded", times=None), "too_long", 1, 0, id="too long"),
        pytest.param(Fail(400, times=None), "unavailable", 1, 0, id="400"),
    ],
)
async def test_a_lasting_fault_is_told(
    mock: LLMock, tmp_path: Path, fault: Behavior, code: str, requests: int, retries: int
) -> None:
    """A provider that does not recover is told as what it is, after few requests; the next turn knows the message."""
    mock.add(fault)
    async with talk(tmp_path, mock.base_url(), timeout=patience(fault)) as assistant:
        events = await turn(assistant, "hi")
        assert errors(events) == ["model_retry"] * retries + [code]
        assert said(events) == []
        assert len(mock.requests) == requests
        mock.assert_resilient()
        calm(mock).add(says("Here again."))
        assert said(await turn(assistant, "and now?")) == ["Here again."]
        assert heard(bodies(mock)[-1], "user") == ["hi", "and now?"]
        assert [line.metadata.get("code") for line in await assistant.history(THREAD)] == [None, code, None, None]


@pytest.mark.slow
async def test_a_stream_that_is_always_cut_is_no_answer(mock: LLMock, tmp_path: Path) -> None:
    """Half an answer is never taken for one; after three requests the user is told."""
    mock.add(StreamFault("truncate", after_chunks=3, times=None))
    async with talk(tmp_path, mock.base_url()) as assistant:
        events = await turn(assistant, "hi")
        assert errors(events) == ["model_retry", "model_retry", "busy"]
        assert said(events) == []
        assert len(mock.requests) == 3
        calm(mock).add(says("Here again."))
        assert said(await turn(assistant, "and now?")) == ["Here again."]


async def test_a_drop_before_the_first_word_is_told(mock: LLMock, tmp_path: Path) -> None:
    """A connection that is lost before the first word ends in an error, and the thread goes on."""
    mock.add(StreamFault("disconnect", after_chunks=0, times=None))
    async with talk(tmp_path, mock.base_url()) as assistant:
        events = await turn(assistant, "hi")
        assert errors(events)[-1] in ("busy", "unavailable")
        assert said(events) == []
        assert len(mock.requests) <= 3
        calm(mock).add(says("Here again."))
        assert said(await turn(assistant, "and now?")) == ["Here again."]


@pytest.mark.slow
async def test_a_server_that_is_not_there(mock: LLMock, closed_port: str, tmp_path: Path) -> None:
    """A refused connection is told as a model that is not available; the thread goes on when it is."""
    async with talk(tmp_path, closed_port) as assistant:
        assert errors(await turn(assistant, "hi")) == ["unavailable"]
    mock.add(says("Here I am."))
    async with talk(tmp_path, mock.base_url()) as assistant:
        assert said(await turn(assistant, "and now?")) == ["Here I am."]
        assert heard(bodies(mock)[-1], "user") == ["hi", "and now?"]


@pytest.mark.parametrize("kind", ["truncate", "disconnect"])
async def test_a_tool_never_runs_with_half_its_arguments(mock: LLMock, tmp_path: Path, kind: Any) -> None:
    """Wherever the stream of a tool call ends early, it is asked for again and the tool runs once, whole."""
    mock.add(PLAN, says("What shall I put down?"))
    wishes = [f"milk {number}, bread and butter" for number in range(1, 7)]
    async with talk(tmp_path, mock.base_url()) as assistant:
        await turn(assistant, "my to-dos")
        for chunks, wish in enumerate(wishes, 1):
            again = calls("add_todos", items=[wish])
            mock.add(StreamFault(kind, after_chunks=chunks, match=STREAM), again, again, says("Noted. What else?"))
            events = await turn(assistant, f"put down {wish}")
            assert errors(events) == ["model_retry"]
            assert tools(events) == [("add_todos", True)]
            assert said(events) == ["Noted. What else?"]
        assert await todos(assistant) == wishes
        # Every piece of the call came before the last cut; only the word that it was all was missing.
        assert max(record.chunks_sent for record in mock.requests if record.fault) == len(wishes)
    mock.assert_resilient()


async def test_a_tool_call_that_is_always_cut_is_never_run(mock: LLMock, tmp_path: Path) -> None:
    """A tool call that never arrives whole ends in an error; later it runs once."""
    wish = calls("add_todos", items=["milk, bread and butter"])
    mock.add(PLAN, says("What shall I put down?"))
    async with talk(tmp_path, mock.base_url()) as assistant:
        await turn(assistant, "my to-dos")
        mock.add(StreamFault("disconnect", after_chunks=4, times=3, match=STREAM), wish, wish, wish)
        events = await turn(assistant, "put down milk, bread and butter")
        assert errors(events) == ["model_retry", "model_retry", "busy"]
        assert tools(events) == []
        assert await todos(assistant) == []
        mock.add(wish, says("Noted."))
        assert said(await turn(assistant, "once more, please")) == ["Noted."]
        assert await todos(assistant) == ["milk, bread and butter"]
    mock.assert_resilient()


@pytest.mark.parametrize(("times", "seen"), [(1, ["model_retry"]), (3, ["model_retry", "model_retry", "busy"])])
async def test_arguments_that_are_not_json(mock: LLMock, tmp_path: Path, times: int, seen: list[str]) -> None:
    """A call whose arguments are no JSON is asked for again, three times at most, and never run as it is."""
    wish = calls("add_todos", items=["milk"])
    mock.add(PLAN, says("What shall I put down?"))
    async with talk(tmp_path, mock.base_url()) as assistant:
        await turn(assistant, "my to-dos")
        mock.add(
            ToolFault("malformed_arguments", times=times, match=SPEAKER), *[wish] * min(times + 1, 3), says("Noted.")
        )
        events = await turn(assistant, "put down milk")
        assert errors(events) == seen
        assert tools(events) == ([("add_todos", True)] if times == 1 else [])
        calm(mock).add(says("Here again."))
        assert said(await turn(assistant, "and now?")) == ["Here again."]
        assert await todos(assistant) == (["milk"] if times == 1 else [])
    mock.assert_resilient()


@pytest.mark.parametrize("args", ['["milk"]', '"milk"', "null", "milk", '{"items": ["milk"'])
async def test_arguments_that_are_no_object(tmp_path: Path, args: str) -> None:
    """JSON that is no object is no better: the call is asked for again."""
    plan, wish = provider.call("plan_things", "{}", "a"), provider.call("add_todos", '{"items": ["milk"]}', "b")
    replies = [plan, provider.call("add_todos", args, "b"), wish, provider.words("Noted.")]
    async with Provider.open(*replies) as server, talk(tmp_path, server.url) as assistant:
        events = await turn(assistant, "put down milk")
        assert errors(events) == ["model_retry"]
        assert said(events) == ["Noted."]
        assert await todos(assistant) == ["milk"]


async def test_arguments_that_do_not_fit_are_explained_to_the_model(mock: LLMock, tmp_path: Path) -> None:
    """The model is told what is wrong with its arguments, and tries again."""
    mock.add(PLAN, calls("add_todos", items="milk"), calls("add_todos", items=["milk"]), says("Noted."))
    async with talk(tmp_path, mock.base_url()) as assistant:
        events = await turn(assistant, "put down milk")
        assert tools(events) == [("add_todos", False), ("add_todos", True)]
        assert errors(events) == []
        assert said(events) == ["Noted."]
        assert await todos(assistant) == ["milk"]
    told = heard(bodies(mock)[2], "tool")
    assert len(told) == 1
    assert "items: Input should be a valid list" in told[0]
    mock.assert_resilient(strict=True)


async def test_an_unknown_tool_is_explained_to_the_model(mock: LLMock, tmp_path: Path) -> None:
    """The model is told that there is no such tool and which ones there are."""
    mock.add(calls("order_pizza", size=3), says("That I cannot do."), says("Gladly."))
    async with talk(tmp_path, mock.base_url()) as assistant:
        events = await turn(assistant, "a pizza, please")
        assert tools(events) == [("order_pizza", False), ("assistant_help", True)]
        assert said(events) == ["That I cannot do."]
        assert said(await turn(assistant, "thanks")) == ["Gladly."]
    told = heard(bodies(mock)[1], "tool")
    assert "order_pizza" in told[0]
    assert "current_time" in told[0]
    mock.assert_resilient(strict=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "requests"),
    [
        pytest.param(Fail(503, retry_after=0.1, times=None, match=Match(model="m")), 3, id="503"),
        pytest.param(Fail(401, times=None, match=Match(model="m")), 1, id="401"),
        pytest.param(StreamFault("disconnect", 2, times=None, match=Match(model="m")), 3, id="dropped"),
    ],
)
async def test_the_fallback_model_steps_in(mock: LLMock, tmp_path: Path, fault: Behavior, requests: int) -> None:
    """When the first model fails the fallback answers in the same turn, and the events say which one did."""
    mock.add(fault, Reply(text=TEXT, match=Match(model="n")))
    async with talk(tmp_path, mock.base_url(), fallback="openai:n") as assistant:
        events = await turn(assistant, "hi")
        assert said(events) == [TEXT]
        ends = [(event.model, event.ok) for event in events if isinstance(event, ModelEnd)]
        assert ends[0] == ("openai:m", False)
        assert ends[-1] == ("openai:n", True)
        assert errors(events) == ["model_retry"] * (len(ends) - 1)
        assert [record.model for record in mock.requests] == ["m"] * requests + ["n"]
        mock.assert_resilient()
        calm(mock).add(says("Here again."))
        assert said(await turn(assistant, "and now?")) == ["Here again."]


@pytest.mark.slow
async def test_a_fallback_that_fails_too_is_told(mock: LLMock, tmp_path: Path) -> None:
    """When no model answers, the user is told what the last one suffers from."""
    mock.add(Fail(401, times=None, match=Match(model="m")), Fail(500, times=None, match=Match(model="n")))
    async with talk(tmp_path, mock.base_url(), fallback="openai:n") as assistant:
        assert errors(await turn(assistant, "hi")) == ["model_retry", "busy"]
        assert len(mock.requests) == 4
    mock.assert_resilient()


@pytest.mark.parametrize("call_id", [None, "call_0"])
async def test_calls_without_ids_of_their_own(tmp_path: Path, call_id: str | None) -> None:
    """A server that gives no ids to tool calls, or all the same one, loses no work."""
    plan = provider.call("plan_things", '{"brief": "to-dos"}', call_id)
    milk, bread = (provider.call("add_todos", json.dumps({"items": [item]}), call_id) for item in ("milk", "bread"))
    noted = provider.words("Noted. What else?")
    async with Provider.open(plan, milk, noted, bread, noted) as server, talk(tmp_path, server.url) as assistant:
        for text in ("put down milk", "bread"):
            assert said(await turn(assistant, text)) == ["Noted. What else?"]
        assert await todos(assistant) == ["milk", "bread"]
        last = server.bodies[-1]["messages"]
        asked = [call["id"] for message in last for call in message.get("tool_calls", [])]
        assert asked == [message["tool_call_id"] for message in last if message["role"] == "tool"]
        assert len(set(asked)) == 2


@pytest.mark.parametrize("ids", [("a", "b"), ("a", "a"), (None, None)])
async def test_two_calls_in_one_reply(tmp_path: Path, ids: tuple[str | None, str | None]) -> None:
    """Calls of one reply run side by side; both do their work and no number is given twice."""
    both = [
        {"index": place, "id": call_id, "type": "function", "function": {"name": "add_todos", "arguments": args}}
        for place, (args, call_id) in enumerate(zip(('{"items": ["milk"]}', '{"items": ["bread"]}'), ids, strict=True))
    ]
    replies: list[Sequence[Chunk]] = [
        provider.call("plan_things", "{}"),
        [provider.delta(role="assistant", tool_calls=both), provider.end("tool_calls")],
        provider.words("Noted."),
    ]
    async with Provider.open(*replies) as server, talk(tmp_path, server.url) as assistant:
        events = await turn(assistant, "put down milk and bread")
        told = [event.object for event in events if isinstance(event, ToolEnd)]
        assert told[-1] == "1. milk\n2. bread"
        assert await todos(assistant) == ["milk", "bread"]


async def test_an_error_in_place_of_a_reply(tmp_path: Path) -> None:
    """An error that comes inside a stream, even as its first word, is a broken reply like any other."""
    trouble = '{"error": {"message": "overloaded", "code": 529}}'
    replies: list[Sequence[Chunk]] = [
        [trouble],
        [provider.delta(role="assistant", content="One"), trouble],
        provider.words(TEXT),
    ]
    async with Provider.open(*replies) as server, talk(tmp_path, server.url) as assistant:
        events = await turn(assistant, "hi")
        assert errors(events) == ["model_retry", "model_retry"]
        assert said(events) == [TEXT]
        assert len(server.bodies) == 3


async def test_tokens_are_counted(tmp_path: Path) -> None:
    """What a provider says a reply cost stands in the event, the cached part included."""
    reply = [*provider.words(TEXT), provider.usage(1100, 7, 1024)]
    async with Provider.open(reply) as server, talk(tmp_path, server.url) as assistant:
        events = await turn(assistant, "hi")
    (end,) = [event for event in events if isinstance(event, ModelEnd)]
    assert (end.input_tokens, end.output_tokens, end.cached_tokens) == (1100, 7, 1024)


async def test_a_server_that_counts_nothing(tmp_path: Path) -> None:
    """Without counts from the provider the event says 0."""
    async with Provider.open(provider.words(TEXT)) as server, talk(tmp_path, server.url) as assistant:
        (end,) = [event for event in await turn(assistant, "hi") if isinstance(event, ModelEnd)]
    assert (end.ok, end.input_tokens, end.output_tokens, end.cached_tokens) == (True, 0, 0, 0)


async def test_a_stop_ends_the_request(tmp_path: Path) -> None:
    """An answer that is stopped is not made to its end: the provider sees that whoever asked has gone."""
    async with (
        Provider.open(provider.words("word " * 500), pace=0.01) as server,
        talk(tmp_path, server.url) as assistant,
    ):
        shown = ""
        async for event in assistant.play(Turn(thread=THREAD, text="count")):
            if isinstance(event, Token):
                shown += event.text
                if shown == "word word word":
                    assert await assistant.stop(THREAD)
            elif isinstance(event, Message):
                assert (event.text, event.interrupted) == ("word word word", True)
        async with asyncio.timeout(3):
            await server.left.wait()
