"""A stop comes after an irreversible write, not within it, and the user and the model know of the write."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool

from agents.events import Event, Token, ToolEnd, ToolStart, TurnEnd
from agents.events.views import Notice
from agents.toolkit import traits
from agents.toolkit.speaker import Speakers
from app.assistant import Assistant, Turn
from app.testing.script import Call, Script
from prompts import phrase
from tests.support.changed_speakers import changed
from tests.support.scripted_assistant import ROLES, THREAD, open_calls, play, said, stage
from tests.support.stops import PLAN, messages

pytestmark = pytest.mark.needs("planner")

BEGUN, RELEASED = asyncio.Event(), asyncio.Event()
SENT: list[str] = []


@traits(effect="write", irreversible=True, confirm="never")
@tool
async def post(text: str) -> str:
    """Post a letter."""
    BEGUN.set()
    await RELEASED.wait()
    SENT.append(text)
    return "Posted."


def with_post(speakers: Speakers) -> Speakers:
    """Give the planner the tool."""
    return changed(speakers, "planner", post)


@pytest.fixture
async def assistant(tmp_path: Path, script: Script) -> AsyncIterator[Assistant]:
    """Open the application with a tool that nobody can take back."""
    SENT.clear()
    BEGUN.clear()
    RELEASED.clear()
    async with stage(tmp_path / "post.db", script.models(ROLES), change=with_post) as opened:
        yield opened


async def test_a_stop_lands_after_what_cannot_be_taken_back(assistant: Assistant, script: Script) -> None:
    """The tool runs to its end, the user is told why, and the model finds its result instead of a broken call."""
    script.add(supervisor=[PLAN], planner=[Call("post", {"text": "dear aunt"}), "never asked for"])
    playing = asyncio.ensure_future(_played(assistant, "write to my aunt"))
    await BEGUN.wait()
    assert await assistant.stop(THREAD)
    assert await assistant.stop(THREAD)
    RELEASED.set()
    events = await playing
    assert SENT == ["dear aunt"]
    done = phrase("done_until_then", "en", what="post (text: “dear aunt”)")
    assert [event.message for event in events if isinstance(event, Notice)] == [phrase("stop_waits", "en"), done]
    assert [event.object for event in events if isinstance(event, ToolEnd)] == ["Posted."]
    assert messages(events) == [("planner", "", True)]
    assert await open_calls(assistant) == []
    script.queues["planner"] = ["It is posted."]
    script.add(observer=["stay"])
    assert said(await play(assistant, "did it go out?")) == ["It is posted."]
    results = [message for message in script.asked[-1].messages if isinstance(message, ToolMessage)]
    assert [(result.text, result.status) for result in results] == [("Posted.\nOnly you see it.", "success")]


async def test_a_turn_gives_way_after_its_tools(assistant: Assistant, script: Script) -> None:
    """A turn that must give way calls its model no more after its tools; their results are kept."""
    script.add(supervisor=[PLAN], planner=[Call("list_todos"), "never asked for"])
    events: list[Event] = []
    async for event in assistant.play(Turn(thread=THREAD, text="something for the week")):
        if isinstance(event, ToolStart):
            assert await assistant.stop(THREAD, after_tools=True)
        events.append(event)
    assert any(isinstance(event, ToolEnd) and event.ok for event in events)
    assert script.left() == {"planner": ["never asked for"]}
    assert isinstance(events[-1], TurnEnd)


async def test_an_answer_that_is_spoken_does_not_give_way(assistant: Assistant, script: Script) -> None:
    """The answer goes on to its end."""
    script.add(supervisor=["One two three"])
    events: list[Event] = []
    async for event in assistant.play(Turn(thread=THREAD, text="count")):
        if isinstance(event, Token):
            assert await assistant.stop(THREAD, after_tools=True)
        events.append(event)
    assert messages(events) == [("supervisor", "One two three", False)]


async def _played(assistant: Assistant, text: str) -> list[Event]:
    return [event async for event in assistant.play(Turn(thread=THREAD, text=text))]
