"""One use of the command line, as commands and the dialogs' own ones see it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cached_property

from agents.toolkit.services import Services
from app.composition import open_parts
from app.settings import Settings, read_settings


class Invocation:
    """What a context of the command line has as its `obj`: an `Installation`, and how the result is printed."""

    as_json = False
    """Whether stdout is for the result alone, as JSON."""

    @cached_property
    def settings(self) -> Settings:
        """The settings of the application. Raises ConfigError if one is wrong."""
        return read_settings()

    @property
    def lang(self) -> str:
        """The language of the messages to the operator."""
        return self.settings.app_lang

    @asynccontextmanager
    async def services(self) -> AsyncIterator[Services]:
        """Open the database and the services of every dialog."""
        async with open_parts(self.settings, remote=False) as parts:
            yield parts.services
