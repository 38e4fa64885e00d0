"""PostgreSQL in place of a SQLite file, and workers that play the turns of doors (docs/operations.md)."""

from contextlib import AbstractAsyncContextManager
from importlib import import_module
from typing import TYPE_CHECKING

from agents.memory.backend import Backend
from agents.plugin import Plugin, PluginSettings
from app.process.extras import load_extra
from app.settings import Settings

if TYPE_CHECKING:
    from app.assistant import Assistant

SCHEMES = ("postgresql", "postgres")
PLAYING = "app.plugins.postgres.playing"


class PostgresSettings(PluginSettings):
    """Whether workers play the turns of doors."""

    workers: bool = False


def backend(_: PostgresSettings, url: str) -> Backend:
    """Return the backend of a server's database. Raises ConfigError: its packages are not installed."""
    module = load_extra("app.plugins.postgres.backend", "postgres", "DATABASE_URL: PostgreSQL")
    made: Backend = module.PostgresBackend(url)
    return made


def door(settings: PostgresSettings, application: Settings) -> "AbstractAsyncContextManager[Assistant] | None":
    """Return the assistant of a door that hands its turns to workers; None unless WORKERS is set."""
    if not settings.workers:
        return None
    opening: AbstractAsyncContextManager[Assistant] = import_module(PLAYING).open_handing(application)
    return opening


plugin = Plugin(settings=PostgresSettings, storage=dict.fromkeys(SCHEMES, backend), command_line=PLAYING, door=door)
