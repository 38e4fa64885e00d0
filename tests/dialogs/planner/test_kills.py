"""Reminders ring once each, however often the processes that ring them are killed."""

import random
import re
from collections import Counter
from datetime import datetime
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from app.assistant.clocks import GRACE_MS
from tests.dialogs.planner.ringing_process import ring
from tests.dialogs.planner.room import BERLIN, open_reminders, set_reminder
from tests.support.until import moment, until
from tests.support.warm_process import FORK

MISSED = re.compile(r"⏰ (\d+)( \(missed: .*\))?")
REMINDERS, APART = 60, 6
"""The number of reminders, and the seconds between them."""
KILL_EVERY = 5
"""After so many steps of the time processes are killed."""


class Ringing:
    """Two processes that ring the reminders of a database, and the time that they read."""

    def __init__(self, path: Path, seed: int) -> None:
        self._path, self._clock, self.chance = path, path.with_name("time"), random.Random(seed)
        self._processes = list[BaseProcess]()
        self.kills = 0

    def set_time(self, at: float) -> None:
        """Let it be so late, Unix time in seconds."""
        coming = self._clock.with_suffix(".new")
        coming.write_text(str(at), "ascii")
        coming.replace(self._clock)

    def refill(self) -> None:
        """Start a process for each that has ended, most of them by themselves."""
        fallen = [process for process in self._processes if not process.is_alive()]
        self.kills += len(fallen)
        self._processes = [process for process in self._processes if process not in fallen]
        while len(self._processes) < 2:
            place = (self._path, self._clock, self.chance.randrange(10**6))
            self._processes.append(process := FORK.Process(target=ring, args=place, daemon=True))
            process.start()

    def kill(self, most: int = 2) -> None:
        """Kill so many of them."""
        for process in self._processes[:most]:
            process.kill()
            process.join()


@pytest.mark.slow
async def test_each_rings_once_over_kills(tmp_path: Path) -> None:
    """Two processes at a time ring 60 reminders in quick time while they are killed again and again.

    Each is in the transcript once; those that came too late, and only those, are told as missed. Time goes on when all
    has rung that was due, so nothing depends on how fast a process starts.
    """
    path = tmp_path / "dialogs.db"
    ringing = Ringing(path, seed=7)
    # The clocks in Berlin change within this time.
    start = datetime(2027, 3, 28, 1, 50, tzinfo=BERLIN)
    async with open_reminders(path, start.timestamp) as (memory, reminders):
        for number in range(REMINDERS):
            await set_reminder(
                reminders, str(number), f"in {60 + number * APART} seconds", thread=f"thread-{number % 5}"
            )
        at, steps = start.timestamp(), 0

        async def all_rang() -> bool:
            ringing.refill()
            return await reminders.due(round(at * 1000), None, "*") == []

        try:
            while at < start.timestamp() + 60 + REMINDERS * APART:
                steps += 1
                is_kill, nobody_is_left = steps % KILL_EVERY == 0, ringing.chance.random() < 0.35
                if is_kill and nobody_is_left:
                    ringing.kill()
                    at += GRACE_MS / 1000
                at += ringing.chance.uniform(1, 5 * APART)
                ringing.set_time(at)
                if is_kill and not nobody_is_left:
                    await moment(0.1, chance=ringing.chance)
                    ringing.kill(1)
                await until(all_rang)
        finally:
            ringing.kill()
        lines = [line for thread in range(5) for line in await memory.transcript.lines(f"thread-{thread}")]
    assert Counter(line.text.split()[1] for line in lines) == {str(number): 1 for number in range(REMINDERS)}
    missed = []
    for line in lines:
        match = MISSED.fullmatch(line.text)
        assert match is not None
        delay_ms = line.at_ms - start.timestamp() * 1000 - (60 + int(match[1]) * APART) * 1000
        assert delay_ms >= 0
        assert (delay_ms > GRACE_MS) is bool(match[2])
        missed.append(bool(match[2]))
    assert ringing.kills >= 5
    assert 0 < sum(missed) < REMINDERS
