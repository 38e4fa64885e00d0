"""The stage: the assistant on a database of its own."""

import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from agents.memory.sqlite_file import SqliteBackend
from agents.models import Models
from agents.toolkit.speaker import Speakers
from app.assistant import Assistant
from app.composition import open_assistant
from app.databases import backend_of
from app.settings import Settings


@asynccontextmanager
async def staged(
    settings: Settings,
    speakers: Speakers,
    models: Models | None = None,
    folder: Path | None = None,
    now: Callable[[], float] = time.time,
) -> AsyncIterator[Assistant]:
    """Open the assistant on a database of its own, which is gone afterwards unless a folder keeps it.

    The stage reaches no user of the installation, and has no remote tools. `now` is its clock.

    Raises:
        ConfigError: a setting is wrong.
    """
    with tempfile.TemporaryDirectory() as scratch:
        url = f"sqlite:///{(folder or Path(scratch)) / 'lab.db'}"
        # People read the folder, and it outlives the present settings.
        backend = SqliteBackend(url) if folder else backend_of(url)
        own = settings.model_copy(update={"database_url": url, "turns_per_hour": 0})
        opening = open_assistant(own, models=models, remote=False, speakers=speakers, backend=backend, now=now)
        async with opening as assistant:
            yield assistant
