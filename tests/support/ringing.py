"""The service that rings, in this process: set reminders, run it, look at what was told."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from agents.language.schedule import Moment
from agents.memory import open_memory
from app.cli.ring import ring_for
from app.settings import Settings


async def remind(path: Path, text: str, *, ago: float, user: str = "me", thread: str = "me") -> None:
    """Set a reminder that has been due for some seconds."""
    at = datetime.now(ZoneInfo("UTC")) - timedelta(seconds=ago)
    async with open_memory(f"sqlite:///{path}") as memory:
        await memory.reminders.add(user, thread, f"{text}-{ago}", text=text, lang="en", moment=Moment(at))


@asynccontextmanager
async def ring_service(
    path: Path, user: str | None = None, ics: str | None = None, **settings: object
) -> AsyncIterator[None]:
    """Let `python -m app ring` run in this process."""
    own = Settings(_env_file=None, database_url=f"sqlite:///{path}", **settings)  # type: ignore[arg-type]
    running = asyncio.create_task(ring_for(own, "en", user, Path(ics) if ics else None))
    try:
        yield
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


async def until(met: Callable[[], object]) -> None:
    """Wait until a condition holds."""
    async with asyncio.timeout(60):
        while not met():  # noqa: ASYNC110  # what is waited for is in another process, or in a server
            await asyncio.sleep(0.02)


async def told(path: Path, thread: str = "me") -> list[str]:
    """Return what stands in a transcript."""
    async with open_memory(f"sqlite:///{path}") as memory:
        return [line.text for line in await memory.transcript.lines(thread)]
