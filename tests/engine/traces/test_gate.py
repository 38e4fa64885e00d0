"""The trained gate in conversations: whom it spares, who is asked all the same, and what is logged of it."""

import sqlite3
from contextlib import closing

import pytest

from agents.conversation.gate import Gate, Guess
from agents.conversation.scene import Scene
from agents.errors import ModelUnavailable
from agents.events import Token
from app.assistant import Turn
from app.testing import Chat, told
from app.testing.script import Call

pytestmark = pytest.mark.needs("profile")

BEGIN = Call("get_acquainted", {"brief": "-"})
Log = list[tuple[float, int, int]]


def always(leaves: float, score: float = -5.0) -> Gate:
    """Return a gate that guesses the same of every message."""

    def gate(scene: Scene) -> Guess:
        return Guess(leaves, "a test", score, "w")

    return gate


def log(chat: Chat) -> Log:
    """Return score, watched and leaves of every logged guess."""
    with closing(sqlite3.connect(chat.path)) as connection:
        return connection.execute("SELECT score, watched, leaves FROM gate_log ORDER BY letter").fetchall()


@pytest.mark.parametrize("farewell", ["yes, that is all, thanks", "That's all.", "No, that's everything"])
async def test_a_farewell_reaches_the_finished_observer(chat: Chat, farewell: str) -> None:
    """An observer whose own test fires is asked, however sure the gate is that the message stays."""
    chat.gate = always(0.0)
    chat.expects(
        supervisor=[BEGIN, "See you."],
        profile=["What do you do?", "Hm?"],
        observer=["yes"],
    )
    await chat.says("Hi")
    assert told(f"""
        user: {farewell}
        finished (observer): finished
        profile -> supervisor
        supervisor: See you.
    """) == await chat.says(farewell)


async def test_a_message_that_stays_asks_nobody(chat: Chat) -> None:
    """The dialog answers alone; the log has the score and no text."""
    chat.gate = always(0.1)
    chat.expects(supervisor=[BEGIN], profile=["Tell me what you do.", "I see."])
    await chat.says("Hi", "I work as a nurse in a large hospital")
    assert "gate (gate): stay" in [str(event) for event in chat.events]
    assert log(chat) == [(-5.0, 0, 0)]


@pytest.mark.needs("planner")
async def test_the_log_knows_what_observers_found(chat: Chat) -> None:
    """A stay, a switch, and the switch taken back by the user: in the end nothing has left."""
    chat.gate = always(0.5, 0.25)
    chat.expects(
        supervisor=[BEGIN],
        profile=["Tell me what you do.", "I see.", "Hm.", "As you were."],
        observer=["stay", "planner"],
        planner=["Milk is on the list."],
    )
    await chat.says("Hi", "I nurse people", "milk belongs on the list")
    assert log(chat) == [(0.25, 1, 0), (0.25, 1, 1)]
    await chat.says("no, go on")
    assert log(chat) == [(0.25, 1, 0), (0.25, 1, 0)]


@pytest.mark.needs("planner")
async def test_the_log_knows_what_a_dialog_gave_back(chat: Chat) -> None:
    """A message that the gate let pass and the dialog handed back is a missed change of subject."""
    chat.gate = always(0.0)
    chat.expects(
        supervisor=[BEGIN, "It is noon."],
        profile=["Tell me what you do.", Call("hand_back", {"wish": "the time"})],
    )
    await chat.says("Hi", "the time")
    assert log(chat) == [(-5.0, 0, 1)]


async def test_of_a_stopped_turn_nothing_is_logged(chat: Chat) -> None:
    """Nobody knows whether the guess was right."""
    chat.gate = always(0.1)
    chat.expects(supervisor=[BEGIN], profile=["Tell me what you do.", ["I see", " what you do."]])
    await chat.says("Hi")
    async with chat.assistant() as assistant:
        async for event in assistant.play(Turn(thread="ann", text="I work as a nurse in a large hospital")):
            if isinstance(event, Token) and event.speaker == "profile":
                await assistant.stop("ann")
    assert log(chat) == []


async def test_a_turn_that_another_try_completes_is_logged(chat: Chat) -> None:
    """The model failed, or the process was killed, behind the guess: whoever goes on has not heard it."""
    chat.gate = always(0.1)
    failure = ModelUnavailable("busy", "openai:gpt", "503")
    chat.expects(supervisor=[BEGIN], profile=["Tell me what you do.", failure, "I see."])
    await chat.says("Hi")
    await chat.says("I work as a nurse in a large hospital", id="m")
    assert log(chat) == []
    assert "I see." in await chat.says("I work as a nurse in a large hospital", id="m")
    assert log(chat) == [(-5.0, 0, 0)]
