"""People's ratings of answers: one sign per person and turn, deleted with its turn, thread or person."""

import pytest

from agents.memory import Memory, feedback
from agents.memory.feedback import ShownTurn

DOOR = "telegram 1"
ANNS, BOBS = ShownTurn("group", "m1", "ann"), ShownTurn("group", "m2", "bob")


async def test_a_sign_belongs_to_a_turn(memory: Memory) -> None:
    """A message leads to its turn at its own door; a later sign replaces the one before, and None takes it back."""
    await memory.feedback.show(DOOR, 5, 7, ANNS)
    assert await memory.feedback.turn(DOOR, 5, 7) == ANNS
    assert await memory.feedback.turn(DOOR, 6, 7) is None
    assert await memory.feedback.turn("telegram 2", 5, 7) is None
    assert [await memory.feedback.rate(ANNS, "bob", sign) for sign in ("👍", "👎")] == [None, "👍"]
    await memory.feedback.rate(ANNS, "ann", "👎")
    assert await memory.feedback.counts(0) == {"👎": 2}
    assert await memory.feedback.counts(2**50) == {}
    assert await memory.feedback.rate(ANNS, "bob", None) == "👎"
    assert await memory.feedback.counts(0) == {"👎": 1}


async def test_it_is_forgotten_with_its_person(memory: Memory) -> None:
    """One's part of a thread and all of a person take their own signs; a thread takes all of them."""
    for number, turn in enumerate((ANNS, BOBS)):
        await memory.feedback.show(DOOR, 5, number, turn)
        await memory.feedback.rate(turn, turn.user, "👍")
    await memory.feedback.erase("group", "ann")
    assert [await memory.feedback.turn(DOOR, 5, number) for number in (0, 1)] == [None, BOBS]
    assert await memory.feedback.counts(0) == {"👍": 1}
    await memory.feedback.rate(ShownTurn("own", "m3", "cat"), "cat", "👍")
    await memory.forget_person("bob")
    assert await memory.feedback.turn(DOOR, 5, 1) is None
    await memory.feedback.erase("own")
    assert await memory.feedback.counts(0) == {}


async def test_messages_of_long_ago_lead_nowhere(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table does not grow with a chat for ever; the signs stay with their turns."""
    await memory.feedback.show(DOOR, 5, 1, ANNS)
    await memory.feedback.rate(ANNS, "ann", "👍")
    monkeypatch.setattr(feedback, "KEPT_MS", -1)
    await memory.feedback.show(DOOR, 5, 2, BOBS)
    assert await memory.feedback.turn(DOOR, 5, 1) is None
    assert await memory.feedback.counts(0) == {"👍": 1}
