"""An observer calls a person while its process is killed at any trip to the database."""

from collections.abc import AsyncIterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from app.assistant import Turn
from app.plugins.seat.seats import Seats
from prompts import sentence
from tests.plugins.seat.killable_observer import ANGRY, ANSWER, watched_over
from tests.support.killable_process import Driver, Request
from tests.support.scripted_assistant import script_lines

MOST_STEPS = 200
pytestmark = pytest.mark.slow


@pytest.fixture
async def driver() -> AsyncIterator[Driver]:
    """Start a driver of processes with an observer."""
    async with Driver.start("tests.plugins.seat.killable_observer") as started:
        yield started


def notices(events: Sequence[dict[str, Any]]) -> int:
    """Return the number of notices that a person is called."""
    return sum(event.get("message") == sentence("seat/phrases", "called", "en") for event in events)


async def test_a_call_outlives_who_made_it(tmp_path: Path, driver: Driver) -> None:
    """Killed anywhere and sent again, the message has called a person once, and the user was told."""
    for at in count(1):
        path = tmp_path / f"{at}.db"
        outcome = await driver.play(Request(database=str(path), thread="t", text=ANGRY, id="m", step=at))
        async with watched_over(path) as assistant:
            again = [event.plain() async for event in assistant.play(Turn(thread="t", text=ANGRY, id="m"))]
            [call] = await assistant.services.get(Seats).all()
            assert (call.caller, call.reason, call.holder) == ("observer", "the user is angry", "")
            assert await script_lines(assistant) == [f"user: {ANGRY}", f"supervisor: {ANSWER}"]
        shown = notices(outcome.events), notices(again)
        assert max(shown) == 1
        if not outcome.killed:
            assert shown == (1, 0)
            break
        assert at < MOST_STEPS
    assert at > 2
