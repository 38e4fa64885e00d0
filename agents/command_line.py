"""Arguments and results of the commands of `python -m app`, also of those of plug-ins."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import typer


def readable(text: str) -> str:
    """Return an argument of the command line; bytes that are not UTF-8 could neither be stored nor sent."""
    return os.fsencode(text).decode("utf-8", "replace")


def name_given(value: str | None) -> str | None:
    """Return a name as it can be stored. Raises BadParameter if the name is blank."""
    if value is not None and not value.strip():
        raise typer.BadParameter("a name is needed")
    return value if value is None else readable(value)


Name = Annotated[str, typer.Argument(callback=name_given)]
Device = Annotated[str | None, typer.Option(callback=name_given, help="Only through this door, such as terminal.")]


@dataclass(frozen=True)
class CommandResult:
    """The output of a command: `--json` prints the object, without it the lines are printed."""

    object: object
    lines: Sequence[str]
    exit_code: int = 0
