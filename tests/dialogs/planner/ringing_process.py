"""A process that rings reminders in quick time.

`python -m tests.dialogs.planner.ringing_process DATABASE BEGUN START SPEED SEED` starts it.

BEGUN is the real time at which the reminders' time was START; since then SPEED seconds of it go by in one.
Now and then it kills itself between telling a reminder and taking note of that.
"""

import asyncio
import os
import random
import signal
import sys
import time
from pathlib import Path

from agents.memory.inbox import TranscriptLine
from app.assistant.clocks import Clock, Ring
from tests.dialogs.planner.room import open_reminders

CRASHES = 0.04


async def main(path: str, begun: float, start: float, speed: float, seed: int) -> None:
    """Ring until killed."""
    chance = random.Random(seed)

    def now() -> float:
        return start + (time.time() - begun) * speed

    async with open_reminders(Path(path), now) as (memory, reminders):

        async def deliver(ring: Ring) -> None:
            # As `Assistant.tell` does; what it needs beside would take seconds to import.
            line = TranscriptLine("assistant", "supervisor", ring.text, 0, ring.id, time.time_ns() // 1_000_000)
            await memory.transcript.tell(ring.thread, line)
            if chance.random() < CRASHES:
                os.kill(os.getpid(), signal.SIGKILL)

        await Clock(memory, [reminders], deliver, speed=speed).run()


if __name__ == "__main__":
    database, *numbers = sys.argv[1:]
    began, started, quick, seeded = map(float, numbers)
    asyncio.run(main(database, began, started, quick, int(seeded)))
