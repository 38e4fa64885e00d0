"""Reminders: set, changed and deleted by tools; they ring once each, whatever happens to the process."""

import asyncio
import random
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from agents.memory import Memory, open_memory
from agents.memory.letters import Letter
from agents.memory.reminder import Reminder
from agents.moments import Moment
from agents.moments.moving import rezoned
from agents.moments.reading import moment
from app.clock import GRACE_MS, Clock, Ring

BERLIN = ZoneInfo("Europe/Berlin")
MISSED = re.compile(r"⏰ (\d+)( \(missed: .*\))?")
FRIDAY = datetime(2026, 11, 20, 10, tzinfo=BERLIN)


class Room:
    """A database whose clock stands until it is set, and what rang in it."""

    def __init__(self, path: Path, now: datetime = FRIDAY) -> None:
        self.path, self.at = path, now
        self.rings: list[Ring] = []
        self.before: Callable[[Ring], None] = lambda ring: None

    @asynccontextmanager
    async def open(self, *, user: str | None = None, threads: str = "*") -> AsyncIterator[Memory]:
        """Open the database and let what is due ring."""
        async with open_memory(f"sqlite:///{self.path}", lambda: self.at.timestamp()) as memory:
            clock = Clock(memory, self._deliver, user=user, threads=threads, speed=500)
            running = asyncio.create_task(clock.run())
            yield memory
            await self.settle(memory)
            running.cancel()

    async def until(self, memory: Memory, at: datetime) -> None:
        """Let time pass, minute by minute, and what is due ring."""
        while self.at.astimezone(UTC) < at.astimezone(UTC):
            self.at = (self.at.astimezone(UTC) + timedelta(minutes=1)).astimezone(at.tzinfo)
            now = round(self.at.timestamp() * 1000)
            if await memory.reminders.due(now, None, "*"):
                await self.settle(memory)

    async def settle(self, memory: Memory) -> None:
        """Wait until nothing more rings."""
        for _ in range(2):
            memory.reminders.changed.set()
            await asyncio.sleep(0.03)

    async def _deliver(self, ring: Ring) -> None:
        self.before(ring)
        self.rings.append(ring)


@pytest.fixture
def room(tmp_path: Path) -> Room:
    """A new database on a Friday at ten."""
    return Room(tmp_path / "dialogs.db")


async def set_reminder(memory: Memory, text: str, when: str, *, user: str = "ann", thread: str = "ann") -> Reminder:
    """Set a reminder as the tool does, with a call of its own."""
    named = moment(when, "en", datetime.fromtimestamp(memory.reminders.now(), UTC), BERLIN)
    assert named is not None
    return await memory.reminders.add(user, thread, f"{text}-{when}", text=text, lang="en", moment=named)


def texts(room: Room) -> list[str]:
    """Return what rang."""
    return [ring.text for ring in room.rings]


async def test_a_reminder_rings_once_when_it_is_due(room: Room) -> None:
    """It rings neither early nor twice, and a new process does not ring it again."""
    async with room.open() as memory:
        await set_reminder(memory, "tea", "in 20 minutes")
        await room.until(memory, FRIDAY + timedelta(minutes=19))
        assert texts(room) == []
        await room.until(memory, FRIDAY + timedelta(minutes=21))
    async with room.open() as memory:
        await room.until(memory, FRIDAY + timedelta(minutes=40))
    assert texts(room) == ["⏰ tea"]


async def test_a_missed_reminder_is_told_as_missed(room: Room) -> None:
    """What was due while no process ran is told at the next start, with the time it was meant for."""
    async with room.open() as memory:
        await set_reminder(memory, "tea", "in 20 minutes")
    room.at = FRIDAY + timedelta(hours=3)
    async with room.open():
        pass
    assert texts(room) == ["⏰ tea (missed: it was due on Fri, 2026-11-20, 10:20)"]
    assert room.rings[0].is_missed


async def test_a_repetition_rings_every_time_and_goes_on_after_a_gap(room: Room) -> None:
    """Of those that were missed one is told; the next one comes at its time."""
    async with room.open() as memory:
        await set_reminder(memory, "stretch", "every 30 minutes")
        await room.until(memory, FRIDAY + timedelta(minutes=65))
        assert texts(room) == ["⏰ stretch", "⏰ stretch"]
    room.at = FRIDAY + timedelta(hours=5, minutes=10)
    async with room.open() as memory:
        await room.until(memory, FRIDAY + timedelta(hours=5, minutes=31))
    assert [ring.is_missed for ring in room.rings] == [False, False, True, False]
    assert len({ring.id for ring in room.rings}) == 4


async def test_daylight_saving_moves_no_reminder_on_the_clock(room: Room) -> None:
    """Every day at nine is nine o'clock before and after the clocks change; what they skip rings once."""
    room.at = datetime(2027, 3, 27, 1, tzinfo=BERLIN)
    rung = []
    room.before = lambda ring: rung.append(f"{room.at.astimezone(BERLIN):%d %H:%M}")
    async with room.open() as memory:
        await set_reminder(memory, "nine", "every day at 9")
        await set_reminder(memory, "skipped", "every day at 2:30 am")
        await room.until(memory, datetime(2027, 3, 29, 12, tzinfo=BERLIN))
    assert rung == ["27 02:30", "27 09:00", "28 03:30", "28 09:00", "29 02:30", "29 09:00"]


async def test_what_was_changed_or_deleted_does_not_ring(room: Room) -> None:
    """A deleted reminder is silent; a changed one rings at its new time only, also when both were just due."""
    async with room.open() as memory:
        deleted = await set_reminder(memory, "deleted", "in 10 minutes")
        changed = await set_reminder(memory, "changed", "in 10 minutes")
        room.at = FRIDAY + timedelta(minutes=10)
        async with memory.locks.hold("ann"):  # as a turn does
            await room.settle(memory)
            assert await memory.reminders.delete("ann", deleted.number, "call-1")
            new = Moment(FRIDAY + timedelta(minutes=30))
            await memory.reminders.change(changed, "call-2", text="changed", moment=new)
        await room.until(memory, FRIDAY + timedelta(minutes=29))
        assert texts(room) == []
        await room.until(memory, FRIDAY + timedelta(minutes=31))
    assert texts(room) == ["⏰ changed"]


async def test_what_was_changed_rings_as_it_is_now(room: Room) -> None:
    """A turn during which a reminder comes due may still change its text and its zone."""
    async with room.open() as memory:
        tea = await set_reminder(memory, "tea", "every day at 11")
        room.at = FRIDAY + timedelta(hours=1)
        async with memory.locks.hold("ann"):  # as a turn does
            await room.settle(memory)
            there = rezoned(tea.moment, room.at, ZoneInfo("Europe/Moscow"))
            await memory.reminders.change(tea, "call", text="green tea", moment=there)
        await room.settle(memory)
        assert texts(room) == ["⏰ green tea"]
        (left,) = await memory.reminders.live("ann")
        assert left.moment.at.isoformat() == "2026-11-21T11:00:00+03:00"


async def test_one_that_has_rung_can_be_put_off(room: Room) -> None:
    """It rings again, as another ring than before."""
    async with room.open() as memory:
        tea = await set_reminder(memory, "tea", "in 10 minutes")
        await room.until(memory, FRIDAY + timedelta(minutes=12))
        await memory.reminders.change(tea, "call", text="tea", moment=Moment(FRIDAY + timedelta(minutes=20)))
        await room.until(memory, FRIDAY + timedelta(minutes=22))
    assert texts(room) == ["⏰ tea", "⏰ tea"]
    assert len({ring.id for ring in room.rings}) == 2


async def test_a_call_that_is_repeated_writes_once(room: Room) -> None:
    """Adding, putting off and deleting once more with the same call change nothing."""
    async with room.open() as memory:
        tea = await set_reminder(memory, "tea", "in 10 minutes")
        assert await set_reminder(memory, "tea", "in 10 minutes") == tea
        for minutes in (15, 20):
            new = Moment(FRIDAY + timedelta(minutes=minutes))
            await memory.reminders.change(tea, "later", text="tea", moment=new)
        assert [one.moment.at for one in await memory.reminders.live("ann")] == [FRIDAY + timedelta(minutes=15)]
        assert await memory.reminders.delete("ann", 1, "gone")
        await set_reminder(memory, "cake", "in 30 minutes")  # takes the number that is free again
        assert await memory.reminders.delete("ann", 1, "gone")
        assert [(one.number, one.text) for one in await memory.reminders.live("ann")] == [(1, "cake")]


async def test_a_clock_rings_only_what_its_door_can_deliver(room: Room) -> None:
    """A clock of one user, or of the threads of one door, leaves the others alone."""
    async with room.open(user="ann") as memory:
        await set_reminder(memory, "mine", "in 5 minutes")
        await set_reminder(memory, "his", "in 5 minutes", user="bob", thread="telegram-7")
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
        await set_reminder(memory, "tea", "in 5 minutes")
        await room.until(memory, FRIDAY + timedelta(minutes=6))
        await asyncio.sleep(0.1)
    assert texts(room) == ["⏰ tea"]


async def test_forgetting_a_thread_forgets_its_reminders(room: Room) -> None:
    """Nothing of them is left, and they do not ring."""
    async with room.open() as memory:
        await memory.transcript.accept(Letter("ann", "message-1", "ann", "Remind me", "message"))
        await set_reminder(memory, "a secret of mine", "in 5 minutes")
        assert await memory.forget("ann")
        await room.until(memory, FRIDAY + timedelta(minutes=6))
    assert room.rings == []
    assert all(b"a secret of mine" not in path.read_bytes() for path in room.path.parent.iterdir())


@pytest.mark.slow
async def test_two_hundred_ring_once_each_over_kills(tmp_path: Path) -> None:
    """Two processes at a time ring 200 reminders in quick time while they are killed again and again.

    Each is in the transcript once; those that came too late, and only those, are told as missed.
    """
    path, speed, chance = tmp_path / "dialogs.db", 60, random.Random(7)
    # The clocks in Berlin change within this time.
    start = datetime(2027, 3, 28, 1, 50, tzinfo=BERLIN)
    async with open_memory(f"sqlite:///{path}", start.timestamp) as memory:
        for number in range(200):
            await set_reminder(memory, str(number), f"in {60 + number * 6} seconds", thread=f"thread-{number % 5}")
    begun = time.time()
    processes: list[subprocess.Popen[bytes]] = []
    try:
        kills = await _kill_again_and_again(processes, chance, [path, begun, start.timestamp(), speed], last=begun + 26)
    finally:
        for process in processes:
            process.kill()
            process.wait()
    told = []
    async with open_memory(f"sqlite:///{path}") as memory:
        assert await memory.reminders.due(2**53, None, "*") == []
        for thread in range(5):
            told += await memory.transcript.lines(f"thread-{thread}")
    found = {int(match[1]): bool(match[2]) for line in told if (match := MISSED.fullmatch(line.text))}
    counts = Counter(line.text.split()[1] for line in told)
    assert counts == {str(number): 1 for number in range(200)}
    late = {int(line.text.split()[1]): (line.at_ms / 1000 - begun) * speed for line in told}
    for number, is_missed in found.items():
        delay = late[number] - (60 + number * 6)
        # The transcript leaves out what is less than a millisecond.
        assert delay > -speed / 1000
        # What was judged to be on time may be written down a moment later.
        assert delay > (GRACE_MS - speed) / 1000 if is_missed else delay < GRACE_MS / 1000 + speed
    assert kills >= 10
    assert sum(found.values()) < 200


async def _kill_again_and_again(
    processes: list[subprocess.Popen[bytes]], chance: random.Random, arguments: list[object], last: float
) -> int:
    """Keep two processes running, kill one at random times until `last`, then wait until all has rung."""
    kills = 0

    def begin() -> None:
        command = [sys.executable, "-m", "tests.reminding", *map(str, arguments), str(chance.randrange(10**6))]
        processes.append(subprocess.Popen(command, stderr=subprocess.DEVNULL))

    next_kill = time.time() + 4
    async with open_memory(f"sqlite:///{arguments[0]}") as memory:
        while time.time() < last or await memory.reminders.due(2**53, None, "*"):
            assert time.time() < last + 20, "not everything rang"
            if next_kill < time.time() < last:
                # Mostly one goes on, sometimes nobody does.
                for process in processes if chance.random() < 0.35 else processes[:1]:
                    process.kill()
                    process.wait()
                next_kill = time.time() + chance.uniform(0.5, 3)
            fallen = [process for process in processes if process.poll() is not None]
            kills += len(fallen)
            processes[:] = [process for process in processes if process not in fallen]
            while len(processes) < 2:
                begin()
            await asyncio.sleep(0.1)
    return kills
