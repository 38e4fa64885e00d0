"""A call that the user has agreed to, and what is taken back, around processes that are killed: done once each."""

import pytest

from agents.memory.store import namespace_of
from app.testing import Chat
from tests.engine.processes.test_kill_question import calls_left, killed
from tests.support.killable_process import Driver
from tests.support.write_tools import Desk

ASKED = "confirm: promise (text: “to ring”)? [yes | no]"
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("second_life")]


async def todos(chat: Chat) -> list[str]:
    """Return the entries of the list."""
    async with chat.assistant() as assistant:
        items = await assistant.memory.store.asearch(namespace_of("ann", "todos"))
    return [item.value["text"] for item in items]


async def test_a_question_before_a_call_outlives_who_asked_it(chat: Chat, driver: Driver) -> None:
    """Killed at any step of the turn that asks, nothing is done before the yes, and once after it."""
    async for _ in killed(chat, driver, text="please promise something"):
        assert Desk(chat.path).noted == []
        assert (await chat.says("please promise something", id="m")).endswith(ASKED)
        assert (await chat.says("yes")).endswith("planner: Promised: to ring.")
        assert Desk(chat.path).noted == ["to ring"]


@pytest.mark.parametrize(("answer", "noted"), [("yes", ["to ring"]), ("no", [])])
async def test_an_answer_before_a_call_outlives_who_took_it(
    chat: Chat, driver: Driver, answer: str, noted: list[str]
) -> None:
    """Killed at any step of the turn that answers, a yes runs the call once and a no never; nothing is asked again."""
    async for _ in killed(chat, driver, "please promise something", text=answer):
        trace = await chat.says(answer, id="m")
        assert "confirm: " not in trace
        assert trace.endswith(("planner: Promised: to ring.", "Go on without it.", "or go on without it."))
        assert Desk(chat.path).noted == noted
        assert await calls_left(chat) == []
        await chat.says("yes")
        assert Desk(chat.path).noted == noted


async def test_an_undo_outlives_who_began_it(chat: Chat, driver: Driver) -> None:
    """Killed at any step, it takes back what it was said about and nothing more, and tells so."""
    async for _ in killed(chat, driver, "some milk", "now drop it", text="undo"):
        assert (await chat.says("undo", id="m")).endswith("planner: Back again: 1. milk.")
        assert await todos(chat) == ["milk"]
        assert (await chat.says("undo")).endswith("planner: Taken back: 1. milk.")
        assert await todos(chat) == []


async def test_a_redo_outlives_who_began_it(chat: Chat, driver: Driver) -> None:
    """Killed at any step, it does again what was just taken back, tells so, and leaves what was taken back before."""
    async for _ in killed(chat, driver, "some bread", "undo", "some milk", "undo", text="redo"):
        assert (await chat.says("redo", id="m")).endswith("planner: Done again: 1. milk.")
        assert await todos(chat) == ["milk"]
        assert (await chat.says("undo")).endswith("planner: Taken back: 1. milk.")
        assert await todos(chat) == []


async def test_a_deletion_that_was_cut_off_is_told_as_done(chat: Chat, driver: Driver) -> None:
    """Killed at any step, the user is told what was deleted, and it can be taken back."""
    async for _ in killed(chat, driver, "some milk", text="now drop it"):
        trace = await chat.says("now drop it", id="m")
        assert "planner: Deleted: 1. milk." in trace
        assert (await chat.says("undo")).endswith("planner: Back again: 1. milk.")
        assert await todos(chat) == ["milk"]
