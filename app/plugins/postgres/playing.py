"""Workers play the turns of a door on the same database: the door hands them over, `worker` takes them."""

import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Annotated, Any

import typer

from agents.errors import ConfigError
from app.assistant import Assistant
from app.composition import open_assistant
from app.composition.doors import open_prepared
from app.plugins.postgres import SCHEMES, PostgresSettings
from app.process.extras import load_extra
from app.process.logs import log_on_stderr
from app.process.tasks import cancelled_by
from app.settings import Settings, read, read_settings

NO_WORKERS = "WORKERS: set it to yes, so that the doors leave their turns to workers (docs/operations.md)"
QUEUE = "app.plugins.postgres.queue"
UNBOUNDED = 1_000_000
"""A number of turns that no worker ever plays at the same time."""


@asynccontextmanager
async def open_handing(settings: Settings) -> AsyncIterator[Assistant]:
    """Open the assistant of a door that hands its turns to workers. Raises as `open_assistant`."""
    doors, queues = _modules(settings, "app.plugins.postgres.door_assistant", QUEUE)
    async with queues.open_queue(settings.database_url) as queue:
        make = partial(doors.HandingAssistant, queue=queue)
        opening: Any = open_assistant(settings, make=make)
        async with opening as assistant, assistant.listener():
            yield assistant


Turns = Annotated[int, typer.Option(min=1, max=1000, help="How many turns it plays at a time.")]


async def worker(*, turns: Turns = 32) -> int:
    """Play the turns that `serve` and `telegram` leave to workers, until stopped; needs WORKERS=yes."""
    settings = read_settings()
    log = log_on_stderr(detailed=False, content=settings.log_content, as_json=settings.log_json)
    with log, cancelled_by(signal.SIGTERM, signal.SIGINT):
        if not read(PostgresSettings).workers:
            raise ConfigError(NO_WORKERS)
        await play_for_doors(settings, turns)
    return 0


async def play_for_doors(settings: Settings, most: int) -> None:
    """Play the turns of doors, up to `most` at a time, until cancelled; raises as `open_assistant`."""
    workers, queues = _modules(settings, "app.plugins.postgres.worker", QUEUE)
    # The door has counted the turns of the user, and taken them on; here `most` bounds them.
    settings = settings.model_copy(update={"turns_per_hour": 0, "turns_at_once": UNBOUNDED})
    async with queues.open_queue(settings.database_url) as queue, open_prepared(settings) as assistant:
        await workers.Worker(assistant, queue, most).run()


def _modules(settings: Settings, *names: str) -> list[Any]:
    if settings.database_url.partition(":")[0] not in SCHEMES:
        raise ConfigError("WORKERS: workers need a PostgreSQL database; set DATABASE_URL (docs/operations.md)")
    return [load_extra(name, "postgres", "WORKERS: PostgreSQL") for name in names]


command_line = typer.Typer()
command_line.command()(worker)
