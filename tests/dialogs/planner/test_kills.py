"""Reminders ring once each, however often the processes that ring them are killed."""

import asyncio
import random
import re
import subprocess
import sys
import time
from collections import Counter
from datetime import datetime
from pathlib import Path

import pytest

from app.assistant.clocks import GRACE_MS
from tests.dialogs.planner.room import BERLIN, open_reminders, set_reminder

MISSED = re.compile(r"⏰ (\d+)( \(missed: .*\))?")


@pytest.mark.slow
async def test_two_hundred_ring_once_each_over_kills(tmp_path: Path) -> None:
    """Two processes at a time ring 200 reminders in quick time while they are killed again and again.

    Each is in the transcript once; those that came too late, and only those, are told as missed.
    """
    path, speed, chance = tmp_path / "dialogs.db", 60, random.Random(7)
    # The clocks in Berlin change within this time.
    start = datetime(2027, 3, 28, 1, 50, tzinfo=BERLIN)
    async with open_reminders(path, start.timestamp) as (_, reminders):
        for number in range(200):
            await set_reminder(reminders, str(number), f"in {60 + number * 6} seconds", thread=f"thread-{number % 5}")
    # Time begins to run when the first two processes ring; on a busy machine they start slowly.
    begun = time.time() + 2 * _seconds_to_start()
    processes: list[subprocess.Popen[bytes]] = []
    try:
        kills = await _kill_again_and_again(processes, chance, [path, begun, start.timestamp(), speed], last=begun + 26)
    finally:
        for process in processes:
            process.kill()
            process.wait()
    lines = []
    async with open_reminders(path) as (memory, reminders):
        assert await reminders.due(2**53, None, "*") == []
        for thread in range(5):
            lines += await memory.transcript.lines(f"thread-{thread}")
    rung = {int(match[1]): bool(match[2]) for line in lines if (match := MISSED.fullmatch(line.text))}
    counts = Counter(line.text.split()[1] for line in lines)
    assert counts == {str(number): 1 for number in range(200)}
    late = {int(line.text.split()[1]): (line.at_ms / 1000 - begun) * speed for line in lines}
    for number, is_missed in rung.items():
        delay = late[number] - (60 + number * 6)
        # The transcript leaves out what is less than a millisecond.
        assert delay > -speed / 1000
        # What was judged to be on time may be written down a moment later.
        assert delay > (GRACE_MS - speed) / 1000 if is_missed else delay < GRACE_MS / 1000 + speed
    assert kills >= 10
    assert sum(rung.values()) < 200


def _seconds_to_start() -> float:
    """Return how long a process takes to load what it needs."""
    begun = time.monotonic()
    subprocess.run([sys.executable, "-c", "import tests.dialogs.planner.ringing_process"], check=True)
    return time.monotonic() - begun


async def _kill_again_and_again(
    processes: list[subprocess.Popen[bytes]], chance: random.Random, arguments: list[object], last: float
) -> int:
    """Keep two processes running, kill one at random times until `last`, then wait until all has rung."""
    kills = 0

    def begin() -> None:
        command = [
            sys.executable,
            "-m",
            "tests.dialogs.planner.ringing_process",
            *map(str, arguments),
            str(chance.randrange(10**6)),
        ]
        processes.append(subprocess.Popen(command, stderr=subprocess.DEVNULL))

    next_kill = float(str(arguments[1])) + 4
    async with open_reminders(Path(str(arguments[0]))) as (_, reminders):
        while time.time() < last or await reminders.due(2**53, None, "*"):
            assert time.time() < last + 120, "not everything rang"
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
