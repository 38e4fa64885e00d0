"""The service that rings, in this process: set reminders, run it, read the notices."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from agents.memory import Memory, open_memory
from app.cli.ring import ring_for
from app.settings import Settings


async def remind(path: Path, text: str, *, ago: float, user: str = "me", thread: str = "me") -> None:
    """Add a notice that was due some seconds ago."""
    at_ms = round((time.time() - ago) * 1000)
    async with open_memory(f"sqlite:///{path}") as memory:
        await memory.notices.add(user, thread, f"{text}-{ago}", text=text, lang="en", at_ms=at_ms)


@asynccontextmanager
async def ring_service(path: Path, user: str | None = None, **settings: object) -> AsyncIterator[None]:
    """Let `python -m app ring` run in this process."""
    own = Settings(_env_file=None, database_url=f"sqlite:///{path}", **settings)  # type: ignore[arg-type]
    running = asyncio.create_task(ring_for(own, "en", user))
    try:
        yield
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


async def all_rang(memory: Memory) -> bool:
    """Tell whether every notice has rung, and that is noted."""
    return await memory.notices.due(2**53, None, "*") == []


async def told(path: Path, thread: str = "me") -> list[str]:
    """Return the lines of a transcript."""
    async with open_memory(f"sqlite:///{path}") as memory:
        return [line.text for line in await memory.transcript.lines(thread)]
