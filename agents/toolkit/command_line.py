"""What a dialog's commands of `python -m app` are given and return."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

import typer

from agents.toolkit.services import Services


@dataclass(frozen=True)
class CommandResult:
    """What a command has to say: `--json` prints the object, without it the lines are printed."""

    object: object
    lines: Sequence[str]
    exit_code: int = 0


class Installation(Protocol):
    """What the application puts into a command's `typer.Context.obj`."""

    lang: str
    """The language of the messages to the operator."""

    def services(self) -> AbstractAsyncContextManager[Services]:
        """Open the database and the services of every dialog."""


def installation_of(context: typer.Context) -> Installation:
    """Return the installation in which a command runs."""
    installation: Installation = context.obj
    return installation


def services_of(context: typer.Context) -> AbstractAsyncContextManager[Services]:
    """Open what a command works with: `async with services_of(context) as services: …`."""
    return installation_of(context).services()
