"""Reminders that are changed, put off, deleted or forgotten ring as they are now, or not at all."""

from datetime import timedelta
from zoneinfo import ZoneInfo

from agents.language.schedule import Moment
from dialogs.planner.reschedule import rezoned
from tests.dialogs.planner.room import FRIDAY, Room, set_reminder, texts


async def test_what_was_changed_or_deleted_does_not_ring(room: Room) -> None:
    """A deleted reminder is silent; a changed one rings at its new time only, also when both were just due."""
    async with room.open() as memory:
        deleted = await set_reminder(room.reminders, "deleted", "in 10 minutes")
        changed = await set_reminder(room.reminders, "changed", "in 10 minutes")
        room.at = FRIDAY + timedelta(minutes=10)
        async with memory.locks.hold("ann"):  # as a turn does
            await room.until_waiting(2)
            await room.reminders.delete("ann", [deleted.added_by])
            new = Moment(FRIDAY + timedelta(minutes=30))
            await room.reminders.change(changed, "call-2", text="changed", moment=new)
        await room.until(memory, FRIDAY + timedelta(minutes=29))
        assert texts(room) == []
        await room.until(memory, FRIDAY + timedelta(minutes=31))
    assert texts(room) == ["⏰ changed"]


async def test_what_was_changed_rings_as_it_is_now(room: Room) -> None:
    """A turn during which a reminder comes due may still change its text and its zone."""
    async with room.open() as memory:
        tea = await set_reminder(room.reminders, "tea", "every day at 11")
        room.at = FRIDAY + timedelta(hours=1)
        async with memory.locks.hold("ann"):  # as a turn does
            await room.until_waiting(1)
            there = rezoned(tea.moment, room.at, ZoneInfo("Europe/Moscow"))
            await room.reminders.change(tea, "call", text="green tea", moment=there)
        await room.settle()
        assert texts(room) == ["⏰ green tea"]
        (left,) = await room.reminders.live("ann")
        assert left.moment.at.isoformat() == "2026-11-21T11:00:00+03:00"


async def test_one_that_has_rung_can_be_put_off(room: Room) -> None:
    """It rings again, as another ring than before."""
    async with room.open() as memory:
        tea = await set_reminder(room.reminders, "tea", "in 10 minutes")
        await room.until(memory, FRIDAY + timedelta(minutes=12))
        await room.reminders.change(tea, "call", text="tea", moment=Moment(FRIDAY + timedelta(minutes=20)))
        await room.until(memory, FRIDAY + timedelta(minutes=22))
    assert texts(room) == ["⏰ tea", "⏰ tea"]
    assert len({ring.id for ring in room.rings}) == 2


async def test_a_call_that_is_repeated_writes_once(room: Room) -> None:
    """Adding, putting off and deleting once more with the same call change nothing."""
    async with room.open():
        tea = await set_reminder(room.reminders, "tea", "in 10 minutes")
        assert await set_reminder(room.reminders, "tea", "in 10 minutes") == tea
        for minutes in (15, 20):
            new = Moment(FRIDAY + timedelta(minutes=minutes))
            await room.reminders.change(tea, "later", text="tea", moment=new)
        assert [reminder.moment.at for reminder in await room.reminders.live("ann")] == [FRIDAY + timedelta(minutes=15)]
        await room.reminders.delete("ann", [tea.added_by])
        await set_reminder(room.reminders, "cake", "in 30 minutes")
        await room.reminders.delete("ann", [tea.added_by])
        assert [(reminder.number, reminder.text) for reminder in await room.reminders.live("ann")] == [(2, "cake")]


async def test_what_is_long_over_goes(room: Room) -> None:
    """A reminder that rang long ago has no row any more; entries of a calendar and the last number stay known."""
    async with room.open() as memory:
        for text, call in (("tea", "tea"), ("cake", "cake"), ("theirs", "ics-1")):
            at = Moment(FRIDAY + timedelta(minutes=5))
            await room.reminders.add("ann", "ann", call, text=text, lang="en", moment=at)
        await room.until(memory, FRIDAY + timedelta(minutes=6))
        room.at = FRIDAY + timedelta(days=100)
        late = Moment(room.at + timedelta(minutes=5))
        new = await room.reminders.add("ann", "ann", "new", text="new", lang="en", moment=late)
        rows = await memory.database.execute("SELECT added_by FROM reminders ORDER BY id")
    assert (new.number, rows) == (4, [("ics-1",), ("new",)])
