"""A process that rings reminders in quick time.

`python -m tests.support.reminder_process DATABASE BEGUN START SPEED SEED` starts it.

BEGUN is the real time at which the reminders' time was START; since then SPEED seconds of it go by in one.
Now and then it kills itself between telling a reminder and taking note of that.
"""

import asyncio
import os
import random
import signal
import sys
import time

from agents.memory import open_memory
from agents.memory.inbox import TranscriptLine
from app.assistant.notice_clock import Clock, Ring

CRASHES = 0.04


async def main(path: str, begun: float, start: float, speed: float, seed: int) -> None:
    """Ring until killed."""
    chance = random.Random(seed)

    def now() -> float:
        return start + (time.time() - begun) * speed

    async with open_memory(f"sqlite:///{path}", now) as memory:

        async def deliver(ring: Ring) -> None:
            # As `Assistant.tell` does; what it needs beside would take seconds to import.
            line = TranscriptLine("assistant", "supervisor", ring.text, 0, ring.id, time.time_ns() // 1_000_000)
            await memory.transcript.tell(ring.thread, line)
            if chance.random() < CRASHES:
                os.kill(os.getpid(), signal.SIGKILL)

        await Clock(memory, [memory.reminders], deliver, speed=speed).run()


if __name__ == "__main__":
    database, *numbers = sys.argv[1:]
    began, started, quick, seeded = map(float, numbers)
    asyncio.run(main(database, began, started, quick, int(seeded)))
