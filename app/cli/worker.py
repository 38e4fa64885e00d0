"""`worker`: a process that plays the turns of doors."""

import signal
from typing import Annotated

import typer

from app.composition.workers import play_for_doors
from app.process.logs import log_on_stderr
from app.process.tasks import cancelled_by
from app.settings import read_settings

Turns = Annotated[int, typer.Option(min=1, max=1000, help="How many turns it plays at a time.")]


async def worker(*, turns: Turns = 32) -> int:
    """Play the turns that doors leave to workers, until stopped; needs WORKERS=yes."""
    settings = read_settings()
    log = log_on_stderr(detailed=False, content=settings.log_content, as_json=settings.log_json)
    with log, cancelled_by(signal.SIGTERM, signal.SIGINT):
        await play_for_doors(settings, turns)
    return 0
