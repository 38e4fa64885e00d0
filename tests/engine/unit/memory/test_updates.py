"""A messenger's updates: each has a row until its work is done, and is known for a week after that."""

import pytest

from agents.memory import Memory, updates
from tests.support.tiny_graph import letter, reply

DOOR = "telegram 1"


async def test_an_update_is_taken_once(memory: Memory) -> None:
    """The same one again is known, open or closed; another door's is another one."""
    stored = await memory.updates.take(DOOR, "message 1", "{}")
    assert await memory.updates.take(DOOR, "message 1", "{}") == (await memory.updates.open(DOOR))[0]
    other = await memory.updates.take("telegram 2", "message 1", "{}")
    await memory.updates.close(stored.id)
    again = await memory.updates.take(DOOR, "message 1", "{}")
    assert (again.id, again.body) == (stored.id, None)
    assert [update.id for update in await memory.updates.open("telegram 2")] == [other.id]


async def test_updates_are_closed_when_the_outcome_is_shown(memory: Memory) -> None:
    """A message's updates stay open until a door has shown the outcome; a stored outcome is not enough."""
    ids = [(await memory.updates.take(DOOR, key, "{}")).id for key in ("message 1", "message 2", "message 3")]
    await memory.transcript.accept(letter(), ids[:2])
    assert [update.message_id for update in await memory.updates.open(DOOR)] == ["m1", "m1", None]
    await memory.transcript.close(letter(), "done", 1, [reply("hi")])
    assert [update.id for update in await memory.updates.open(DOOR)] == ids
    await memory.updates.settle(letter().thread, letter().message_id)
    assert [update.id for update in await memory.updates.open(DOOR)] == ids[2:]


async def test_a_closed_update_says_nothing(memory: Memory) -> None:
    """Nothing of a person is left in its row."""
    stored = await memory.updates.take(DOOR, "message 1", '{"text": "a secret"}')
    await memory.transcript.accept(letter(thread="telegram-11"), [stored.id])
    await memory.updates.answer(stored.id, "another secret")
    await memory.updates.close(stored.id)
    [row] = await memory.database.execute("SELECT * FROM updates")
    assert not any(word in str(row) for word in ("secret", "telegram-11", "message"))


async def test_the_first_door_is_known(memory: Memory) -> None:
    """A second one is told from it, also later."""
    assert [await memory.updates.enter(door) for door in (DOOR, "telegram 2", DOOR)] == [True, False, True]


async def test_closed_updates_are_dropped_after_a_week(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row is needed as long as the messenger may bring the update again; an open one stays."""
    closed = await memory.updates.take(DOOR, "message 1", "{}")
    await memory.updates.take(DOOR, "message 2", "{}")
    await memory.updates.close(closed.id)
    monkeypatch.setattr(updates, "KEPT_MS", -1)
    await memory.updates.enter(DOOR)
    assert (await memory.updates.take(DOOR, "message 1", "{}")).body == "{}"
    assert len(await memory.updates.open(DOOR)) == 2
