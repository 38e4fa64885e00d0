"""A dialog's commands: slash commands of every door, and services for its commands of `python -m app`.

The results of the latter are in `agents/command_line.py`.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, cast

import typer

from agents.errors import ContractError
from agents.toolkit.services import Services


@dataclass(frozen=True, kw_only=True)
class CommandCall:
    """One use of a slash command."""

    argument: str
    """The text behind the name."""
    user: str
    thread: str
    lang: str
    """The language of the answer."""
    is_shared: bool
    """Whether others read the answer."""
    services: Services


@dataclass(frozen=True, kw_only=True)
class SlashCommand:
    """A slash command."""

    name: str
    """The name behind the slash: letters and underscores."""
    run: Callable[[CommandCall], Awaitable[str]]
    """Returns the answer as plain text; empty if there is nothing to say."""
    description: Callable[[str], str]
    """Returns one line, in a language, on the command."""
    in_groups: bool = True
    """Whether the menus of groups show it, too; if not, its answer is for the user alone, in groups as well."""

    def __post_init__(self) -> None:
        if not re.fullmatch("[a-z_]+", self.name):
            raise ContractError(f"SlashCommand.name has small letters and underscores alone, found {self.name!r}")


class Installation(Protocol):
    """The object that the application puts into a command's `typer.Context.obj`."""

    lang: str
    """The language of the messages to the operator."""

    def services(self, *, reads: bool = False) -> AbstractAsyncContextManager[Services]:
        """Open the database and the services of every dialog; with `reads` the file need not be writable."""


class Interview(Protocol):
    """The operator at `setup`; a plug-in's sentences are those of `prompts/<lang>/<name>/setup.toml`, by their keys."""

    @property
    def is_alone(self) -> bool:
        """Whether this step runs alone."""

    def tell(self, key: str, **variables: object) -> None:
        """Print a sentence."""

    async def answer(self, key: str, *, is_secret: bool = False, **variables: object) -> str:
        """Return the answer to a question. Raises EOFError, or UsageError if there is nobody to ask."""

    async def agrees(self, key: str, **variables: object) -> bool:
        """Ask a question to be answered with yes or no; raises as `answer`."""

    def write(self, values: Mapping[str, str]) -> Path:
        """Write settings to `.env`, and return its path. Raises ConfigError: it cannot be written."""


SetupStep = Callable[[Interview], Awaitable[bool]]
"""A step of `setup`; returns False if it is not wanted or not possible. Its docstring is the help of its option."""


def installation_of(context: typer.Context) -> Installation:
    """Return the installation in which a command runs."""
    return cast(Installation, context.obj)


def services_of(context: typer.Context, *, reads: bool = False) -> AbstractAsyncContextManager[Services]:
    """Open the services for a command; with `reads` the database need not be writable."""
    return installation_of(context).services(reads=reads)
