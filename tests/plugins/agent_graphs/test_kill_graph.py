"""Agent graphs in processes that are killed: their runs go on with the node that they had reached."""

import shutil
from collections.abc import AsyncIterator
from itertools import count
from typing import Any

import pytest

from app.testing import Chat
from tests.plugins.agent_graphs.killable_graph import GRAPHS, REVIEW, Till
from tests.support.killable_process import Driver, Outcome, Request

pytestmark = pytest.mark.slow
MOST_STEPS = 200


@pytest.fixture
async def driver() -> AsyncIterator[Driver]:
    """Start a driver of processes with an agent graph."""
    async with Driver.start("tests.plugins.agent_graphs.killable_graph") as started:
        yield started


async def killed(chat: Chat, driver: Driver, *before: str, text: str) -> AsyncIterator[tuple[Outcome, Till]]:
    """Let a message be killed at each of its steps, each time in a copy of the conversation so far, then at none."""
    calm = Till(chat.path, life=1)
    chat.script, chat.speakers = calm.script, calm.beside(chat.speakers)
    if before:
        await chat.says(*before)
    for step in count(1):
        chat.path = calm.path = chat.path.with_name(f"{step}.db")
        if before:
            source = chat.path.with_name("dialogs.db")
            shutil.copy(source, chat.path)
            shutil.copy(source.with_suffix(".log"), chat.path.with_suffix(".log"))
        request = Request(database=str(chat.path), thread="ann", text=text, id="m", step=step)
        outcome = await driver.play(request)
        yield outcome, calm
        if not outcome.killed:
            break
        assert step < MOST_STEPS
    assert step > 2


async def pending(chat: Chat) -> list[Any]:
    """Return the question to the user."""
    return [question["prompt"].splitlines()[0] for question in (await chat.state())["pending"]]


@pytest.mark.parametrize("graph", GRAPHS)
async def test_a_graph_that_is_killed_before_its_question(chat: Chat, driver: Driver, graph: str) -> None:
    """The message, sent again, brings one question; a finished node's work is not done again."""
    twice, text, answers = 0, f"Pay Bob 10 at the {graph}", ["Bob", "yes"] if graph == "trip" else ["yes"]
    async for outcome, till in killed(chat, driver, text=text):
        if outcome.killed:
            await chat.says(text, id="m")
        assert await pending(chat) == ["Whom?" if graph == "trip" else REVIEW]
        # A kill between an effect and the end of its node lets the node run again.
        assert till.effects in (["looked"], ["looked", "looked"])
        twice += len(till.effects) - 1
        assert (await chat.says(*answers)).endswith(f"{graph}: Bob is paid.")
        assert till.effects[-2:] == ["looked", "paid"]
    assert twice <= 3


@pytest.mark.parametrize("graph", GRAPHS)
async def test_a_graph_that_is_killed_after_its_question(chat: Chat, driver: Driver, graph: str) -> None:
    """Sent again, the answer counts once; the payment is made, and the finished node before it is not run again."""
    twice, before = 0, [f"Pay Bob 10 at the {graph}", *(["Bob"] if graph == "trip" else [])]
    async for outcome, till in killed(chat, driver, *before, text="yes"):
        if outcome.killed:
            await chat.says("yes", id="m")
        assert await pending(chat) == []
        assert till.effects in (["looked", "paid"], ["looked", "paid", "paid"])
        twice += len(till.effects) - 2
        async with chat.assistant() as assistant:
            texts = [line.text for line in await assistant.memory.transcript.lines("ann")]
        assert (texts[-1], texts.count("Bob is paid.")) == ("Bob is paid.", 1)
    assert twice <= 3


async def test_a_no_outlives_who_took_it(chat: Chat, driver: Driver) -> None:
    """Killed at any step of the turn that answers, a no stays one: the answers before it are read back from disk."""
    async for outcome, till in killed(chat, driver, "Pay Bob 10 on the trip", "Bob", text="no"):
        if outcome.killed:
            await chat.says("no", id="m")
        assert till.effects == ["looked"]
