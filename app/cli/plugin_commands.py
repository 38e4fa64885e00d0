"""The commands of plug-ins and dialogs, and the invocation that they get."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cached_property

from agents.errors import ContractError
from agents.plugin import Plugin
from agents.toolkit.services import Services
from app.cli.invocation import Invocation
from app.composition import open_parts, plugins_found
from app.security.audit import deed, login
from app.settings import Settings, read_settings
from prompts import PromptError


class PluginInvocation(Invocation):
    """An `Installation`, for a command that a plug-in brings."""

    def __init__(self, command: str) -> None:
        self.command = command

    @cached_property
    def settings(self) -> Settings:
        """The settings of the application. Raises ConfigError if one is wrong."""
        return read_settings()

    @property
    def lang(self) -> str:
        """The language of the messages to the operator."""
        return self.settings.app_lang

    @asynccontextmanager
    async def services(self, *, reads: bool = False) -> AsyncIterator[Services]:
        """Open the database and the services of every dialog; with `reads` the file need not be writable."""
        async with open_parts(self.settings, remote=False, reads=reads) as parts:
            if reads:
                yield parts.services
                return
            async with deed(parts.services, login(), "command", about=self.command):
                yield parts.services


def brought(command: str = "") -> Mapping[str, Plugin]:
    """Return every plug-in and dialog by name; for the help, which names no command, none if one is broken."""
    try:
        return plugins_found()
    except (ContractError, PromptError):
        if command and not command.startswith("-"):
            raise
        return {}
