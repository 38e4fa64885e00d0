"""PostgreSQL in place of a SQLite file, and workers that play the turns of doors (docs/operations.md)."""

from contextlib import AbstractAsyncContextManager

import typer

from agents.memory.backend import Backend
from agents.plugin import Plugin
from app.assistant import Assistant
from app.plugins.postgres import playing
from app.plugins.postgres.playing import SCHEMES, PostgresSettings
from app.process.extras import load_extra
from app.settings import Settings


def backend(_: PostgresSettings, url: str) -> Backend:
    """Return what opens the database of a server. Raises ConfigError: its packages are not installed."""
    module = load_extra("app.plugins.postgres.backend", "postgres", "DATABASE_URL: PostgreSQL")
    made: Backend = module.PostgresBackend(url)
    return made


def door(settings: PostgresSettings, application: Settings) -> AbstractAsyncContextManager[Assistant] | None:
    """Return the assistant of a door that hands its turns to workers, where WORKERS says so."""
    return playing.open_handing(application) if settings.workers else None


commands = typer.Typer()
commands.command()(playing.worker)

plugin = Plugin(settings=PostgresSettings, storage=dict.fromkeys(SCHEMES, backend), command_line=commands, door=door)
