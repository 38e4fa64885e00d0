"""A conversation over HTTP: streamed, counted, stopped, and nothing sent that the protocol does not know."""

import asyncio
import json
from pathlib import Path

import pytest
from llmock.pytest_plugin import LLMock

from agents.events import Message, ModelEnd, Token
from app.assistant import Turn
from tests.support import odd_provider
from tests.support.endpoint_talk import PLAN, TEXT, bodies, calls, errors, heard, says, talk, tools, turn
from tests.support.odd_provider import Chunk, Provider
from tests.support.scripted_assistant import THREAD, said, todos

# The client library keeps one connection pool for each address, and a pool belongs to one event loop.


@pytest.mark.needs("planner")
async def test_a_conversation_with_a_tool_and_a_handover(mock: LLMock, tmp_path: Path) -> None:
    """Streamed text, a streamed handoff and a streamed tool call make a turn, in three requests."""
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


@pytest.mark.needs("planner")
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
        known = {"model", "stream", "stream_options", "messages", "tools", "prompt_cache_key", "max_tokens"}
        assert body.keys() <= known
        for message in body["messages"]:
            assert message.keys() <= {"role", "content", "tool_calls", "tool_call_id"}
        plain = json.dumps(body)
        assert not [word for word in ("scene", "additional_kwargs", "runtime", "7c1") if word in plain]


@pytest.mark.parametrize(
    ("usage", "counts"), [([odd_provider.usage(1100, 7, 1024)], (1100, 7, 1024)), ([], (0, 0, 0))], ids=["some", "none"]
)
async def test_tokens_are_counted(tmp_path: Path, usage: list[Chunk], counts: tuple[int, int, int]) -> None:
    """The event has the provider's usage of a reply, the cached part included; without counts it says 0."""
    async with Provider.open([*odd_provider.words(TEXT), *usage]) as server, talk(tmp_path, server.url) as assistant:
        [end] = [event for event in await turn(assistant, "hi") if isinstance(event, ModelEnd)]
    assert (end.ok, end.input_tokens, end.output_tokens, end.cached_tokens) == (True, *counts)


async def test_a_stop_ends_the_request(tmp_path: Path) -> None:
    """An answer that is stopped is not made to its end: the provider sees that whoever asked has gone."""
    async with (
        Provider.open(odd_provider.words("word " * 500), pace=0.01) as server,
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
        async with asyncio.timeout(60):
            await server.left.wait()
