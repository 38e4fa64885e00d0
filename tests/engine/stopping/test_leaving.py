"""A reader who stops reading a turn, or closes it, leaves the thread usable."""

import asyncio
from pathlib import Path
from typing import Literal

import pytest

from agents.events import DialogChanged, Event, Message, ModelStart, Token, ToolEnd, ToolStart, TurnEnd, TurnStart
from app.assistant import Assistant, Turn
from app.testing.script import Script
from tests.support.scripted_assistant import (
    ROLES,
    THREAD,
    Gate,
    Planner,
    open_calls,
    play,
    said,
    script_lines,
    stage,
    todos,
)
from tests.support.simulated_time import rounds
from tests.support.stops import word


async def test_whoever_stops_reading_is_answered_by_the_next_turn(assistant: Assistant, script: Script) -> None:
    """A consumer that abandons the turn ends it; the next play of the thread answers its message first."""
    script.gates["supervisor"] = Gate(1)
    script.add(supervisor=["One two", "Three four", "Five six"])
    async for event in assistant.play(Turn(thread=THREAD, text="count", id="lost")):
        if word("two")(event):
            break
    del script.gates["supervisor"]
    events = await play(assistant, "go on", "next")
    assert [event.text for event in events if isinstance(event, TurnStart)] == ["count", "go on"]
    assert await script_lines(assistant) == [
        "user: count",
        "supervisor: Three four",
        "user: go on",
        "supervisor: Five six",
    ]
    assert [line.turn for line in await assistant.history(THREAD)] == [1, 1, 2, 2]


@pytest.mark.parametrize("when", [TurnStart, ModelStart, Token, ToolStart, ToolEnd, Message, DialogChanged, TurnEnd])
@pytest.mark.needs("planner")
async def test_a_closed_turn_can_be_played_again_at_once(tmp_path: Path, when: type[Event]) -> None:
    """Wherever a turn is closed, the same message finds the thread free, and its to-do is written once."""
    turn = Turn(thread=THREAD, text="put down milk", id="m")
    async with stage(tmp_path / "closed.db", Planner().models(ROLES)) as assistant:
        playing = assistant.play(turn)
        async for event in playing:
            if isinstance(event, when):
                break
        await playing.aclose()
        events = [event async for event in assistant.play(turn)]
        assert said(events) == ["Well.", "Noted."]
        assert await todos(assistant) == ["put down milk"]
        assert await open_calls(assistant) == []
        lines = await script_lines(assistant)
        assert lines == ["user: put down milk", "planner: Well.", "planner: Noted."]
        assert [line.turn for line in await assistant.history(THREAD)] == [1, 1, 1]
        assert not await assistant.stop(THREAD)


async def test_a_closed_turn_is_over_before_the_thread_is_free(assistant: Assistant, script: Script) -> None:
    """When closing a turn returns, nothing of it runs any more that could meet the next one."""
    script.gates["supervisor"] = reluctant = Reluctant(1)
    script.add(supervisor=["One two"])
    playing = assistant.play(Turn(thread=THREAD, text="count"))
    async for event in playing:
        if word("two")(event):
            break
    await playing.aclose()
    assert reluctant.over


class Reluctant(Gate):
    """A gate that takes its time to end when it is cancelled."""

    over = False

    async def wait(self) -> Literal[True]:
        """Wait; end slowly."""
        try:
            return await super().wait()
        except asyncio.CancelledError:
            await rounds(50)
            self.over = True
            raise
