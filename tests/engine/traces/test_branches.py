"""Branches: a conversation goes on from an earlier turn, and what was written goes with it."""

import pytest

from agents.models.script import Call
from app.assistant import Turn
from app.assistant.turn import Exchange
from tests.conftest import Chat

pytestmark = pytest.mark.needs("planner")

LIST = Call("plan_things", {"brief": "-"})


async def says(chat: Chat, text: str, after: str, id: str, *before: Exchange) -> None:
    """Say something behind the turn of a message."""
    async with chat.assistant() as assistant:
        turn = Turn(thread="ann", text=text, id=id, after=after, before=before)
        assert [event async for event in assistant.play(turn)]


async def listed(chat: Chat) -> list[str]:
    """Return the to-dos."""
    async with chat.assistant() as assistant:
        items = await assistant.memory.store.asearch(("users", "ann", "todos"))
    return sorted(item.value["text"] for item in items)


async def heard(chat: Chat) -> list[str]:
    """Return what the planner's history has of the user."""
    return [message.text for message in await chat.messages("planner") if message.type == "human"]


async def test_what_is_left_is_taken_back_and_comes_again(chat: Chat) -> None:
    """Each branch has its own state and its own items, however often the user goes from one to the other."""
    milk, tea, rum = (Call("add_todos", {"items": [text]}) for text in ("milk", "tea", "rum"))
    chat.expects(supervisor=[LIST], planner=[milk, "1", tea, "2", rum, "3", "4", "5"])
    await says(chat, "milk", "", "m")
    await says(chat, "tea", "m", "t")
    assert await listed(chat) == ["milk", "tea"]
    await says(chat, "rum", "m", "r")
    assert (await listed(chat), await heard(chat)) == (["milk", "rum"], ["milk", "rum"])
    await says(chat, "well", "t", "w")
    assert (await listed(chat), await heard(chat)) == (["milk", "tea"], ["milk", "tea", "well"])
    await says(chat, "hm", "r", "h")
    assert (await listed(chat), await heard(chat)) == (["milk", "rum"], ["milk", "rum", "hm"])


async def test_again_from_the_beginning(chat: Chat) -> None:
    """The first message said anew writes once."""
    milk = Call("add_todos", {"items": ["milk"]})
    chat.expects(supervisor=[LIST, LIST], planner=[milk, "1", milk, "2"])
    await says(chat, "milk", "", "m")
    await says(chat, "milk", "", "n")
    assert (await listed(chat), await heard(chat)) == (["milk"], ["milk"])


async def test_what_was_said_elsewhere_is_read_in(chat: Chat) -> None:
    """It stands in the history and in the transcript, and is no wish to be done."""
    chat.expects(supervisor=["Hello.", "So it was."])
    await says(chat, "hi", "", "h")
    await says(chat, "and?", "h", "a", Exchange("add rum", "Noted."), Exchange("thanks", ""))
    assert [message.text for message in await chat.messages("supervisor")] == [
        "hi",
        "Hello.",
        "add rum",
        "Noted.",
        "thanks",
        "and?",
        "So it was.",
    ]
    async with chat.assistant() as assistant:
        assert [line.text for line in await assistant.history("ann")][2:5] == ["add rum", "Noted.", "thanks"]
        assert next(iter(await assistant.branches.path("ann", "a"))) == "h"
