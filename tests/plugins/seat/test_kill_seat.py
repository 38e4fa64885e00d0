"""A person in the assistant's place around processes that are killed before any commit."""

import shutil
from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path

import pytest

from agents.errors import UsageError
from app.assistant import Assistant
from app.assistant.clocks import Ring
from app.testing.script import Script
from prompts import sentence
from tests.plugins.seat.killable_seat import OPERATOR, step
from tests.support.killable_process import Driver, Request
from tests.support.scripted_assistant import ROLES, play, script_lines, stage
from tests.support.until import until

TAKEN = f"supervisor: {sentence('seat/phrases', 'taken', 'en', name=OPERATOR.name)}"
BACK = f"supervisor: {sentence('seat/phrases', 'back', 'en')}"
MOST_STEPS = 150
STEPS = ("take", "hear my lamp is broken", "say It comes.", "hear thank you", "back a new lamp")
WHOLE = [
    *("user: hi", "supervisor: Hello.", TAKEN),
    "user: my lamp is broken",
    "Anna: It comes.",
    "user: thank you",
    BACK,
]
pytestmark = pytest.mark.slow


@pytest.fixture
async def desk() -> AsyncIterator[Driver]:
    """Start a driver of processes at a desk."""
    async with Driver.start("tests.plugins.seat.killable_seat") as started:
        yield started


def request(database: Path, text: str, at: int | None = None) -> Request:
    """Return a step; each has an id of its own."""
    return Request(database=str(database), thread="t", text=text, id=text.replace(" ", "-"), step=at)


@pytest.mark.parametrize("killed", [step for step in STEPS if step != "hear thank you"])
async def test_a_step_that_is_killed_is_done_once(tmp_path: Path, desk: Driver, killed: str) -> None:
    """Killed anywhere and done again, each step leaves one line for the user, and the talk goes on to its end."""
    calm = tmp_path / "calm.db"
    script = Script()
    script.add(supervisor=["Hello."])
    async with stage(calm, script.models(ROLES)) as assistant:
        await play(assistant, "hi")
        for before in STEPS[: STEPS.index(killed)]:
            await step(assistant, request(calm, before))
    for at in count(1):
        path = tmp_path / f"{at}.db"
        shutil.copy(calm, path)
        outcome = await desk.play(request(path, killed, at))
        after = Script()
        after.add(supervisor=["On Monday."])
        async with stage(path, after.models(ROLES)) as assistant:
            await again(assistant, request(path, killed))
            for rest in STEPS[STEPS.index(killed) + 1 :]:
                await step(assistant, request(path, rest))
            assert await script_lines(assistant) == WHOLE
            assert await shown(assistant) == [TAKEN, "Anna: It comes.", BACK]
            await play(assistant, "when?")
            assert after.asked[-1].messages[-1].text.count("a new lamp") == 1
            assert [message.text == "my lamp is broken" for message in after.asked[-1].messages].count(True) == 1
        if not outcome.killed:
            break
        assert at < MOST_STEPS
    assert at > 1


async def again(assistant: Assistant, wanted: Request) -> None:
    """Do a step again, as a person or a door does; a hand-back that was done already is refused."""
    try:
        await step(assistant, wanted)
    except UsageError:
        assert wanted.text.startswith("back")


async def shown(assistant: Assistant) -> list[str]:
    """Return the person's words that a door shows."""
    rings: list[Ring] = []

    async def show(ring: Ring) -> None:
        rings.append(ring)
        await assistant.tell(ring.thread, ring.text, ring.id, ring.user)

    async with assistant.ringing(show):
        await until(lambda: len(rings) == 3)
    return [ring.text if ring.text.startswith("Anna: ") else f"supervisor: {ring.text}" for ring in rings]
