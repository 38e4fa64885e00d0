"""Who plays the turns of a door: the door itself, or workers on the same database."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any

from agents.errors import ConfigError
from app.assistant import Assistant
from app.composition import open_assistant
from app.composition.databases import is_postgres
from app.composition.rankers import prepared
from app.process.extras import load_extra
from app.settings import Settings

UNBOUNDED = 1_000_000
"""Turns that no worker comes near to playing at the same time."""


@asynccontextmanager
async def open_for_door(settings: Settings) -> AsyncIterator[Assistant]:
    """Open the assistant of a door; with WORKERS it hands its turns to workers. Raises as `open_assistant`."""
    async with AsyncExitStack() as stack:
        if not settings.workers:
            assistant = await stack.enter_async_context(open_assistant(settings))
            await stack.enter_async_context(prepared(assistant.speakers, direct=settings.direct_switch))
            yield assistant
            return
        handing, queues = _modules(settings, "handing", "queue")
        queue = await stack.enter_async_context(queues.open_queue(settings.database_url))
        make = partial(handing.HandingAssistant, queue=queue)
        door: Any = await stack.enter_async_context(open_assistant(settings, make=make))
        await stack.enter_async_context(door.listener())
        yield door


async def play_for_doors(settings: Settings, most: int) -> None:
    """Play the turns of doors, up to `most` at a time, until cancelled; raises as `open_for_door`."""
    if not settings.workers:
        raise ConfigError("WORKERS: set it to yes, so that the doors leave their turns to workers (docs/operations.md)")
    worker, queues = _modules(settings, "worker", "queue")
    # The door has counted the turns of the user, and taken them on; here `most` bounds them.
    settings = settings.model_copy(update={"turns_per_hour": 0, "turns_at_once": UNBOUNDED})
    async with (
        queues.open_queue(settings.database_url) as queue,
        open_assistant(settings) as assistant,
        prepared(assistant.speakers, direct=settings.direct_switch),
    ):
        await worker.Worker(assistant, queue, most).run()


def _modules(settings: Settings, *names: str) -> list[Any]:
    if not is_postgres(settings.database_url):
        raise ConfigError("WORKERS: workers need a PostgreSQL database; set DATABASE_URL (docs/operations.md)")
    return [load_extra(f"app.worker.{name}", "postgres", "WORKERS: PostgreSQL") for name in names]
