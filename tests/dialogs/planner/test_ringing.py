"""Reminders ring once each, when they are due, at the door that can deliver them."""

import asyncio
from datetime import datetime, timedelta
from pathlib import Path

from app.assistant.clocks import Clock, Ring
from tests.dialogs.planner.room import BERLIN, FRIDAY, Room, open_reminders, set_reminder, texts


async def test_a_reminder_rings_once_when_it_is_due(room: Room) -> None:
    """It rings neither early nor twice, and a new process does not ring it again."""
    async with room.open() as memory:
        await set_reminder(room.reminders, "tea", "in 20 minutes")
        await room.until(memory, FRIDAY + timedelta(minutes=19))
        assert texts(room) == []
        await room.until(memory, FRIDAY + timedelta(minutes=21))
    async with room.open() as memory:
        await room.until(memory, FRIDAY + timedelta(minutes=40))
    assert texts(room) == ["⏰ tea"]


async def test_a_missed_reminder_is_told_as_missed(room: Room) -> None:
    """A reminder that was due without a running process rings at the next start, with its intended time."""
    async with room.open():
        await set_reminder(room.reminders, "tea", "in 20 minutes")
    room.at = FRIDAY + timedelta(hours=3)
    async with room.open():
        pass
    assert texts(room) == ["⏰ tea (missed: it was due today at 10:20 am)"]


async def test_a_repetition_rings_every_time_and_goes_on_after_a_gap(room: Room) -> None:
    """Of those that were missed one is told; the next one comes at its time."""
    async with room.open() as memory:
        await set_reminder(room.reminders, "stretch", "every 30 minutes")
        await room.until(memory, FRIDAY + timedelta(minutes=65))
        assert texts(room) == ["⏰ stretch", "⏰ stretch"]
    room.at = FRIDAY + timedelta(hours=5, minutes=10)
    async with room.open() as memory:
        await room.until(memory, FRIDAY + timedelta(hours=5, minutes=31))
    assert ["missed" in text for text in texts(room)] == [False, False, True, False]
    assert len({ring.id for ring in room.rings}) == 4


async def test_daylight_saving_moves_no_reminder_on_the_clock(room: Room) -> None:
    """Every day at nine is nine o'clock before and after the clocks change; a skipped time rings once."""
    room.at = datetime(2027, 3, 27, 1, tzinfo=BERLIN)
    rung = []
    room.before = lambda ring: rung.append(f"{room.at.astimezone(BERLIN):%d %H:%M}")
    async with room.open() as memory:
        await set_reminder(room.reminders, "nine", "every day at 9")
        await set_reminder(room.reminders, "skipped", "every day at 2:30 am")
        await room.until(memory, datetime(2027, 3, 29, 12, tzinfo=BERLIN))
    assert rung == ["27 02:30", "27 09:00", "28 03:30", "28 09:00", "29 02:30", "29 09:00"]


async def test_a_clock_rings_only_what_its_door_can_deliver(room: Room) -> None:
    """A clock of one user, or of the threads of one door, leaves the others alone."""
    async with room.open(user="ann") as memory:
        await set_reminder(room.reminders, "mine", "in 5 minutes")
        await set_reminder(room.reminders, "his", "in 5 minutes", user="bob", thread="telegram-7")
        await room.until(memory, FRIDAY + timedelta(minutes=6))
    assert texts(room) == ["⏰ mine"]
    async with room.open(threads="telegram-*"):
        pass
    assert texts(room) == ["⏰ mine", "⏰ his"]


async def test_a_failed_delivery_is_tried_again(room: Room) -> None:
    """A ring counts only when it was delivered."""
    failures = [ConnectionError("the network is away")]

    def fail(ring: Ring) -> None:
        if failures:
            raise failures.pop()

    room.before = fail
    async with room.open() as memory:
        await set_reminder(room.reminders, "tea", "in 5 minutes")
        await room.until(memory, FRIDAY + timedelta(minutes=6))
    assert texts(room) == ["⏰ tea"]


async def test_a_ring_on_its_way_arrives_when_the_clock_ends(tmp_path: Path) -> None:
    """It counts as rung: the next clock has nothing to ring."""
    on_its_way, ending, rings = asyncio.Event(), asyncio.Event(), list[str]()

    async def deliver(ring: Ring) -> None:
        on_its_way.set()
        await ending.wait()
        rings.append(ring.text)

    now = [FRIDAY.timestamp()]
    async with open_reminders(tmp_path / "chat.db", lambda: now[0]) as (memory, reminders):
        await set_reminder(reminders, "tea", "in 5 minutes")
        now[0] += 360
        async with Clock(memory, [reminders], deliver):
            await on_its_way.wait()
            # What waits for it goes on when the clock has begun to end.
            ending.set()
        assert rings == ["⏰ tea"]
        assert await reminders.due(round(now[0] * 1000), None, "*") == []
