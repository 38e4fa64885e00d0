"""Tool calls over HTTP: never run in halves, never lost, explained to the model when they are wrong."""

import json
from pathlib import Path
from typing import Any

import pytest
from llmock.pytest_plugin import LLMock
from llmock.scenarios import StreamFault

from tests.support import odd_provider
from tests.support.endpoint_talk import PLAN, STREAM, calls, errors, says, talk, tools, turn
from tests.support.odd_provider import Provider
from tests.support.scripted_assistant import said, todos

pytestmark = pytest.mark.needs("planner")

# The client library keeps one connection pool for each address, and a pool belongs to one event loop.


@pytest.mark.parametrize("kind", ["truncate", "disconnect"])
async def test_a_tool_never_runs_with_half_its_arguments(mock: LLMock, tmp_path: Path, kind: Any) -> None:
    """Wherever the stream of a tool call ends early, it is asked for again and the tool runs once, whole."""
    mock.add(PLAN, says("What shall I put down?"))
    # A call that came whole counts if the stream then only ends.
    wishes = [f"milk {number}, bread and butter" for number in range(1, 6 if kind == "truncate" else 7)]
    async with talk(tmp_path, mock.base_url()) as assistant:
        await turn(assistant, "something for the week")
        for chunks, wish in enumerate(wishes, 1):
            again = calls("add_todos", items=[wish])
            mock.add(StreamFault(kind, after_chunks=chunks, match=STREAM), again, again, says("Noted. What else?"))
            events = await turn(assistant, f"put down {wish}")
            assert errors(events) == ["model_retry"]
            assert tools(events) == [("add_todos", True)]
            assert said(events) == ["Noted. What else?"]
        assert await todos(assistant) == wishes
        # Every piece of the call came before a connection's last break; only the word that it was all was missing.
        assert max(record.chunks_sent for record in mock.requests if record.fault) == len(wishes)
    mock.assert_resilient()


@pytest.mark.parametrize("call_id", [None, "call_0"])
async def test_calls_without_ids_of_their_own(tmp_path: Path, call_id: str | None) -> None:
    """A server that gives no ids to tool calls, or all the same one, loses no work."""
    plan = odd_provider.call("plan_things", '{"brief": "to-dos"}', call_id)
    milk, bread = (odd_provider.call("add_todos", json.dumps({"items": [item]}), call_id) for item in ("milk", "bread"))
    noted = odd_provider.words("Noted. What else?")
    async with Provider.open(plan, milk, noted, bread, noted) as server, talk(tmp_path, server.url) as assistant:
        for text in ("put down milk", "bread"):
            assert said(await turn(assistant, text)) == ["Noted. What else?"]
        assert await todos(assistant) == ["milk", "bread"]
        last = server.bodies[-1]["messages"]
        asked = [call["id"] for message in last for call in message.get("tool_calls", [])]
        assert asked == [message["tool_call_id"] for message in last if message["role"] == "tool"]
        assert len(set(asked)) == 2
