"""Real servers' oddities over HTTP: odd ends, refusals, odd calls, endless streams, halves of characters."""

import asyncio
import gzip
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage

from agents.errors import ModelUnavailable
from agents.events import Error, Event, Message, Token
from agents.models.openai_chat import MOST_BYTES
from agents.models.reply import Listener, reply
from agents.models.streamed_reply import CUT
from app.doors.terminal.screens import JsonLines
from tests.support.endpoint_talk import TEXT, answered, endpoint_model, errors, talk, tools, turn
from tests.support.loopback import listening
from tests.support.odd_provider import HEAD, Chunk, Provider, Reply, call, delta, end, usage, words
from tests.support.scripted_assistant import said, todos
from tests.support.simulated_time import rounds

PLAN = call("plan_things", "{}", "a")
MILK, BREAD = '{"items": ["milk"]}', '{"items": ["bread"]}'
ADD_TODOS = {"type": "function", "function": {"name": "add_todos", "parameters": {"properties": {"items": {}}}}}
HALVES = (slice(0, 9), slice(9, 99))
PROMPT: list[AnyMessage] = [SystemMessage("You are kind."), HumanMessage("hi")]
LISTENER = Listener("supervisor", lambda event: None)


def calling(*calls: dict[str, Any], reason: str = "tool_calls", **beside: Any) -> list[Chunk]:
    """Return a reply with all its calls in one chunk."""
    return [delta(role="assistant", **beside, tool_calls=list(calls)), end(reason)]


def add(args: Any, **fields: Any) -> dict[str, Any]:
    """Return a call that adds to-dos."""
    name = fields.pop("name", "add_todos")
    return {"type": "function", "function": {"name": name, "arguments": args}, **fields}


def calls_of(*pieces: dict[str, Any]) -> list[Chunk]:
    """Return a reply with these pieces of calls, a chunk each."""
    return [*(delta(tool_calls=[piece]) for piece in pieces), end("tool_calls")]


def unstreamed(message: dict[str, Any], indent: int | None = None, reason: str | None = "stop") -> bytes:
    """Return a reply that is one object, and no stream."""
    reason = "tool_calls" if reason and "tool_calls" in message else reason
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": reason}
    text = json.dumps({"id": "r", "object": "chat.completion", "choices": [choice]}, indent=indent)
    return HEAD.replace(b"text/event-stream", b"application/json") + text.encode()


def whole(*messages: dict[str, Any]) -> list[Chunk]:
    """Return an event with whole messages, a choice each."""
    reason = "tool_calls" if "tool_calls" in messages[-1] else "stop"
    return [{"choices": [{"index": 0, "message": message, "finish_reason": reason} for message in messages]}]


def packed(*pieces: Chunk) -> bytes:
    """Return a stream whose connection ends before the body does."""
    body = "".join(f"data: {piece if isinstance(piece, str) else json.dumps(piece)}\n\n" for piece in pieces).encode()
    return HEAD.replace(b"\r\n\r\n", b"\r\nContent-Length: 99999\r\n\r\n") + body


def lined(*pieces: Chunk, separator: str, before: str = "") -> bytes:
    """Return a stream whose pieces begin and end in another way."""
    return HEAD + "".join(f"{before}{json.dumps(piece)}{separator}" for piece in pieces).encode()


@pytest.mark.parametrize(
    ("reason", "code", "note"),
    [("length", "cut_length", "length limit"), ("content_filter", "cut_filter", "filter")],
)
async def test_a_cut_answer_is_said_to_be_cut(tmp_path: Path, reason: str, code: str, note: str) -> None:
    """The answer so far counts; the user reads after it why there is no more."""
    async with Provider.open([*words(TEXT)[:-1], end(reason)]) as server, talk(tmp_path, server.url) as assistant:
        events = await turn(assistant, "hi")
        assert said(events) == [TEXT]
        assert [type(event) for event in events if isinstance(event, Message | Error)] == [Message, Error]
        assert errors(events) == [code]
        assert note in next(event.text for event in events if isinstance(event, Error))
        assert len(server.bodies) == 1


async def test_the_words_of_a_refusal_are_the_answer(tmp_path: Path) -> None:
    """A refusal in its own field is said to the user, after one request."""
    refusal: list[Chunk] = [delta(role="assistant", content=None, refusal="I cannot "), delta(refusal="do that.")]
    async with Provider.open([*refusal, end("stop")]) as server, talk(tmp_path, server.url) as assistant:
        events = await turn(assistant, "hi")
        assert (said(events), errors(events), len(server.bodies)) == (["I cannot do that."], [], 1)


async def test_a_refusal_without_words_is_told(tmp_path: Path) -> None:
    """An empty reply of a content filter is not asked for again, and told as what it is."""
    refusal: list[Chunk] = [delta(role="assistant", content=""), end("content_filter")]
    async with Provider.open(refusal, words(TEXT)) as server, talk(tmp_path, server.url) as assistant:
        events = await turn(assistant, "hi")
        assert (said(events), errors(events), len(server.bodies)) == ([], ["refused"], 1)
        assert said(await turn(assistant, "and now?")) == [TEXT]


@pytest.mark.parametrize(
    "answer",
    [
        [*words(TEXT)[:-1], end("tool_calls")],
        [*words(TEXT)[:-1], usage(9, 4, 0)],
        [*words(TEXT), usage(9, 4, 0)],
        [*words(TEXT), end("stop")],
        [delta(role="assistant"), *words(TEXT)[1:]],
        [delta(content=TEXT), end("eos")],
        [{"choices": [{"index": 0, "delta": {"content": TEXT}, "finish_reason": "stop"}]}],
        [*words(TEXT), usage(10**30, -4, 0)],
        [*words(TEXT), {"choices": [], "usage": {"prompt_tokens": "many", "prompt_tokens_details": 7}}],
        [*words(TEXT), {"choices": [], "usage": [9, 4]}],
        [*words(TEXT), {"choices": [], "usage": "many"}],
        unstreamed({"content": TEXT}),
        unstreamed({"content": TEXT}, indent=2),
        unstreamed({"content": TEXT}, reason=None),
        lined(*words(TEXT), separator="\n"),
        lined(*words(TEXT), separator="\r\n"),
        lined(*words(TEXT), before="data: ", separator="\n"),
        lined(*words(TEXT), before="data: ", separator="\r\r"),
        lined(*words(TEXT), before="\ufeffdata:", separator="\n\n"),
        [{"type": "ping"}, {"choices": None}, "", "null", {}, ": WORKING", "waiting", *words(TEXT)],
        HEAD + b"event: ping\n\ndata:\n\n" + lined(*words(TEXT), before="data: ", separator="\n\n")[len(HEAD) :],
        [{"choices": [{"index": 0, "delta": None, "finish_reason": None}]}, *words(TEXT)],
        [*words(TEXT)[:-1], *whole({"content": TEXT})],
        [{"choices": [{"delta": {"content": text}, "message": {"content": TEXT}}]} for text in ("", TEXT)]
        + [end("stop")],
        packed(*words(TEXT), "[DONE]"),
        [*(delta(content=TEXT[:size]) for size in (3, 7, 13, 16, 16, 18)), end("stop")],
        [*words(TEXT), "[DONE]", {"error": {"message": "Too late.", "code": 500}}],
    ],
    ids=[
        *("tool_calls", "only the price", "price", "twice", "role only", "no role, other reason", "all at once"),
        *("no such counts", "no counts", "a list", "a word", "one object", "one object in lines", "no reason"),
        *("lines of JSON", "CR LF", "no empty lines", "CR", "byte order", "signs of life", "empty events"),
        *("null", "whole at the end", "whole beside", "no end of the connection", "restated"),
        "an error behind the end",
    ],
)
async def test_odd_ends_are_ends(answer: Reply) -> None:
    """An answer that is complete is asked for once."""
    async with Provider.open(answer) as server:
        message, faults = await answered(server.url)
    assert (message.text, faults, len(server.bodies)) == (TEXT, [], 1)


@pytest.mark.parametrize("pieces", [["No", "No, no", "!"], ["A", "AB"], ["a", "aa", "aaa", " b"]])
async def test_words_that_begin_alike_are_words(pieces: list[str]) -> None:
    """Only several pieces that each begin with all words before are sure to restate them."""
    async with Provider.open([*(delta(content=piece) for piece in pieces), end("stop")]) as server:
        assert (await answered(server.url))[0].text == "".join(pieces)


@pytest.mark.parametrize(
    "answer",
    [
        [*words(TEXT)[:-1], "upstream: connection reset"],
        [*words(TEXT)[:-1], '{"choices": [{"delta": {"cont', end("stop")],
        [*words(TEXT)[:-1], {"message": "Out of memory."}, end("stop")],
        HEAD + b"event: error\ndata:\n\n",
        HEAD + b"<html>\n<h1>Soon</h1>\n\n</html>",
        packed(*words(TEXT)),
    ],
    ids=["words and no end", "half a piece", "an error", "an empty error", "no stream", "no end of the stream"],
)
async def test_what_may_lack_a_piece_is_asked_for_again(answer: Reply) -> None:
    """Words in place of a piece, half of one, and a lost connection are no signs of life."""
    async with Provider.open(answer, words(TEXT)) as server:
        message, faults = await answered(server.url)
    assert (message.text, faults, len(server.bodies)) == (TEXT, ["model_retry"], 2)


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
@pytest.mark.parametrize(
    "wish",
    [
        calling(add(MILK, index=0, id="b"), content=""),
        calling(add(MILK, index=0, id="b"), content=None),
        calling(add(MILK, index=0, id="b"), content="\n\n"),
        calling(add(MILK, index=0, id="b"), reason="stop"),
        calling(add(MILK, id="b")),
        calling(add(MILK)),
        calling(add(MILK, index=0, id="")),
        calling(add({"items": ["milk"]}, index=0, id="b")),
        calling(add(json.dumps(MILK), index=0, id="b")),
        unstreamed({"content": None, "tool_calls": [add(MILK, id="b")]}),
        calling(add(MILK, index=0, id=7)),
        [delta(tool_calls=add(MILK, id="b")), end("tool_calls")],
        [delta(function_call={"name": "add_todos", "arguments": MILK}), end("function_call")],
        calls_of(*(add(part, index=0, id="b") for part in ("", MILK[:9], MILK[9:]))),
        [*calling(add(MILK, index=0, id="b"))[:1], *whole({"tool_calls": [add(MILK, index=0, id="b")]})],
        whole({"content": ""}, {"tool_calls": [add(MILK, id="b")]}),
        calls_of(add("", index=0, id="b"), add(MILK, index=0, id="b"), add("", index=0, id="b")),
        calls_of(add(MILK, index=0, id="b"), add(json.dumps(MILK), index=0, id="b")),
        calls_of(add("", index=0, id="b"), add(MILK, index=1, id="b"), add(MILK, index=2, id="b")),
        calls_of(add("{}", index=0, id="b"), *({"index": 0, "function": {"arguments": MILK[at]}} for at in HALVES)),
        calls_of(*(add(MILK[: at.stop], index=0, id="b") for at in HALVES)),
        calling(add(f"{MILK}{MILK}", index=0, id="b")),
        calling(add(f"{MILK}}}", index=0, id="b")),
        calling(add(MILK, name="functions.add_todos")),
        calling(add(MILK, name="add_todos\n")),
        calling(add(MILK, name="add_todos<|channel|>commentary")),
        calls_of(add(MILK, index=0, id="b"))[:-1],
        lined(*calls_of(add(MILK, index=0, id="b"))[:-1], separator="\n"),
        calls_of(*(add("", index=0, id="b", name=part) for part in ("add", "_to", "dos")), add(MILK, index=0, id="b")),
        calls_of(add("", index=0, id="b", name="add_"), {"index": 0, "function": {"name": "todos", "arguments": MILK}}),
    ],
    ids=[
        *("empty", "null", "blank", "stop", "no index", "no id", "empty id", "object", "text", "unstreamed"),
        *("numbered", "one call", "older form", "pieces", "whole at the end", "second choice"),
        *("empty end", "again as a text", "again with another number", "empty object first", "restated", "doubled"),
        *("a bracket too many", "namespace", "line break in the name", "channel", "no reason", "no end"),
        *("name in parts", "name in parts, id once"),
    ],
)
async def test_odd_calls_are_calls(wish: Reply) -> None:
    """A call does its work once, whatever stands beside it, and the user is shown no empty words."""
    async with Provider.open(wish) as server:
        message, faults = await answered(server.url, ADD_TODOS)
    assert [(each["name"], each["args"]) for each in message.tool_calls] == [("add_todos", {"items": ["milk"]})]
    assert (message.text.strip(), faults, len(server.bodies)) == ("", [], 1)


@pytest.mark.parametrize(
    "wish",
    [
        calling(add(MILK, index=0, id="b"), add(BREAD, index=0, id="c")),
        calling(add(MILK, id="b"), add(BREAD, id="c")),
        calling(add(MILK), add(BREAD)),
        calls_of(add(MILK, index=0), add(BREAD, index=0)),
        calls_of(add(MILK, index=0, id="b"), add(BREAD, index=1, id="b")),
        calls_of(
            *(add("", index=0, id="b"), {"index": 0, "function": {"arguments": MILK}}),
            *(add("", index=1, id="b"), {"index": 1, "function": {"arguments": BREAD}}),
        ),
    ],
    ids=["all number 0", "no index", "no index or id", "number 0 in turn", "one id", "one id in pieces"],
)
async def test_calls_are_told_apart(wish: list[Chunk]) -> None:
    """Several calls of one reply stay several, however the server numbers them."""
    async with Provider.open(wish) as server:
        message, _ = await answered(server.url, ADD_TODOS)
    assert [each["args"] for each in message.tool_calls] == [{"items": ["milk"]}, {"items": ["bread"]}]
    assert len({each["id"] for each in message.tool_calls}) == 2


@pytest.mark.needs("planner")
async def test_a_call_in_the_text_does_its_work(tmp_path: Path) -> None:
    """A server without a parser leaves the call in the text: it is run once, and the user reads none of it."""
    text = f'[TOOL_CALLS][{{"name": "add_todos", "arguments": {MILK}}}]'
    wish = [*(delta(content=letter) for letter in text), end("stop")]
    async with Provider.open(PLAN, wish, words("Noted.")) as server, talk(tmp_path, server.url) as assistant:
        events = await turn(assistant, "put down milk")
        assert tools(events) == [("add_todos", True)]
        assert [event.text for event in events if isinstance(event, Token)] == ["Noted."]
        assert (said(events), errors(events)) == (["Noted."], [])
        assert await todos(assistant) == ["milk"]


async def test_what_is_no_answer_twice_is_said(tmp_path: Path) -> None:
    """A model that writes a call of no tool is asked once more; then the user reads an honest sentence."""
    garbled = words('{"name": "order_pizza", "arguments": {}}')
    async with Provider.open(garbled, garbled, words(TEXT)) as server, talk(tmp_path, server.url) as assistant:
        events = await turn(assistant, "a pizza")
        assert (said(events), errors(events)) == ([], ["model_retry", "garbled"])
        assert "pizza" not in str([event for event in events if isinstance(event, Token | Error)])
        assert said(await turn(assistant, "hi")) == [TEXT]


@pytest.mark.parametrize("said_before", ["", "Let me see."])
async def test_a_call_that_was_cut_is_never_run(tmp_path: Path, said_before: str) -> None:
    """A call that ends at the length limit leaves the words before it, and is not asked for again."""
    before = [delta(content=said_before)] if said_before else []
    cut = [*before, *call("plan_things", "{}", "a")[:-1], end("length")]
    async with Provider.open(cut) as server, talk(tmp_path, server.url) as assistant:
        events = await turn(assistant, "hi")
        assert said(events) == [said_before] * bool(before)
        assert (errors(events), tools(events), len(server.bodies)) == (["cut_length"], [], 1)


@pytest.mark.parametrize(
    "flood",
    [[delta(content=f"word {number} ") for number in range(1000)], [delta(content="word " * 5000), end("stop")]],
    ids=["many pieces", "one huge piece"],
)
async def test_an_endless_reply_is_cut(flood: list[Chunk]) -> None:
    """A reply beyond the limit of characters is an answer that was cut; it is not asked for again."""
    async with Provider.open(flood) as server:
        message = await reply([replace(endpoint_model(server.url), reply_length=1000)], PROMPT, [], LISTENER)
        assert 980 < len(message.text) < 1020
        assert message.response_metadata[CUT] == "cut_length"
        assert len(server.bodies) == 1


@pytest.mark.parametrize("is_packed", [False, True], ids=["plain", "packed"])
async def test_an_event_without_an_end_is_not_read(is_packed: bool) -> None:
    """A body whose length nobody told is given up while it comes, even if it was small on the way."""
    body = b"data: " + b"x" * (2 * MOST_BYTES) + b"\n\n"
    head = HEAD.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n") if is_packed else HEAD
    answer = head + (gzip.compress(body) if is_packed else body)
    async with Provider.open(answer, words(TEXT)) as server:
        assert (await reply([endpoint_model(server.url)], PROMPT, [], LISTENER)).text == TEXT
        assert len(server.bodies) == 2


async def test_endless_thinking_is_no_answer() -> None:
    """A reply that thinks beyond the limit of characters has no answer."""
    flood: list[Chunk] = [delta(role="assistant", reasoning_content="word " * 10)] * 100
    async with Provider.open(flood) as server:
        model = replace(endpoint_model(server.url), reply_length=1000)
        with pytest.raises(ModelUnavailable, match="cut length"):
            await reply([model], PROMPT, [], LISTENER)


async def test_a_reply_that_takes_too_long_is_cut() -> None:
    """A reply beyond the limit of seconds is cut, however steadily it comes."""
    async with Provider.open(words(TEXT)) as server:
        model = replace(endpoint_model(server.url), reply_seconds=0.0)
        with pytest.raises(ModelUnavailable, match="cut length"):
            await reply([model], PROMPT, [], LISTENER)


async def test_a_model_that_says_nothing_is_given_up() -> None:
    """All tries together may take so long until the first piece; then the user is told, instead of waiting on."""
    given_up, asked = asyncio.Event(), list[asyncio.Event]()

    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(closed := asyncio.Event())
        await given_up.wait()
        writer.close()
        closed.set()

    async with listening(say_nothing) as address:
        model = replace(endpoint_model(f"{address}/v1"), first_seconds=0.05, cold_seconds=0)
        with pytest.raises(ModelUnavailable, match="busy") as failure:
            await reply([model], PROMPT, [], Listener("supervisor", lambda event: None))
        given_up.set()
        # A busy machine gives up before it has asked.
        await asyncio.gather(*(closed.wait() for closed in asked))
        await rounds(5)
    assert "it says nothing" in failure.value.cause


async def test_a_flood_holds_nothing_up() -> None:
    """While a reply comes as fast as it can, others have their turn, and it can be stopped."""
    flood: list[Chunk] = [delta(role="assistant", content=f"word {number} ") for number in range(20_000)]
    async with Provider.open(flood) as server:
        model, pieces = replace(endpoint_model(server.url), reply_length=10**9), list[str]()

        def feed(piece: str) -> None:
            pieces.append(piece)
            if len(pieces) == 10:
                asyncio.get_running_loop().call_soon(replying.cancel)

        listener = Listener("supervisor", lambda event: None, feed)
        replying = asyncio.create_task(reply([model], PROMPT, [], listener))
        with pytest.raises(asyncio.CancelledError):
            await replying
    assert len(pieces) < len(flood) / 2


@pytest.mark.needs("planner")
async def test_halves_of_characters_break_nothing(tmp_path: Path) -> None:
    """Half a character is replaced, two halves in two pieces are joined, in a text, a tool's name and arguments."""
    wish = call("add_todos", '{"items": ["milk \\ud83d"]}', "b")
    answer: list[Chunk] = [delta(content="Noted \ud83d"), delta(content="\ude00 \udc00!"), end("stop")]
    unknown = call("add_todos\ud83d", "{}", "a")
    async with Provider.open(PLAN, unknown, wish, answer) as server, talk(tmp_path, server.url) as assistant:
        events: list[Event] = await turn(assistant, "put down milk")
        assert said(events) == ["Noted 😀 \ufffd!"]
        assert await todos(assistant) == ["milk \ufffd"]
        lines = io.StringIO()
        for event in events:
            JsonLines(lines).show(event)
        assert all(json.loads(line) for line in lines.getvalue().encode().splitlines())
        await turn(assistant, "and now?")
        assert "Noted 😀 \ufffd!" in [message["content"] for message in server.bodies[-1]["messages"]]
