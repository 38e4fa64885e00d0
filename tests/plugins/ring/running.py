"""The service that rings, in this process."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from app.plugins.ring.service import ring_for
from app.settings import Settings


@asynccontextmanager
async def ring_service(path: Path, user: str | None = None) -> AsyncIterator[None]:
    """Let `python -m app ring` run in this process."""
    settings = Settings(_env_file=None, database_url=f"sqlite:///{path}")
    running = asyncio.create_task(ring_for(settings, "en", user))
    try:
        yield
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
