"""What a specialist's own commands on the command line give back."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class CommandResult:
    """What a command was asked for; with `--json` the object is printed, else the lines."""

    object: object
    lines: Sequence[str]
    exit_code: int = 0
    """The exit code of the process."""
