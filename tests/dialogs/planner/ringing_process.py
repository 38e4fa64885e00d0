"""A process that rings reminders as a test sets the time.

Now and then it kills itself between telling a reminder and taking note of that.
"""

import asyncio
import os
import random
import signal
from pathlib import Path

from agents.memory.inbox import TranscriptLine
from app.assistant.clocks import Clock, Ring
from tests.dialogs.planner.room import open_reminders

CRASHES = 0.04
SPEED = 100
"""It looks at the time every 50 ms."""


def ring(path: Path, time: Path, seed: int) -> None:
    """Ring until killed; the file `time` has the time of the reminders, in seconds."""
    asyncio.run(_ring(path, time, random.Random(seed)))


async def _ring(path: Path, time: Path, chance: random.Random) -> None:
    def now() -> float:
        return float(time.read_text("ascii"))

    async with open_reminders(path, now) as (memory, reminders):

        async def deliver(ring: Ring) -> None:
            # As `Assistant.tell` does; what it needs beside would take seconds to import.
            line = TranscriptLine("assistant", "supervisor", ring.text, 0, ring.id, round(now() * 1000))
            await memory.transcript.tell(ring.thread, line)
            if chance.random() < CRASHES:
                os.kill(os.getpid(), signal.SIGKILL)

        await Clock(memory, [reminders], deliver, speed=SPEED).run()
