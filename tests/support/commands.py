"""Several commands of the application in one process: each process would import the application anew.

`python -m tests.support.commands` reads a line of JSON for each, its arguments, and answers with an Outcome.
"""

import io
import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

from app.cli import command_line
from tests.support.warm_python import run_python


class Outcome(NamedTuple):
    """The outcome of a command."""

    code: int
    out: str
    error: str


def run_commands(folder: Path, environment: Mapping[str, str], *commands: Sequence[str]) -> list[Outcome]:
    """Run commands one after the other in a process of the application in a folder."""
    lines = "\n".join(json.dumps(command) for command in commands)
    done = run_python(__name__, folder=folder, environment=environment, text=lines)
    assert done.returncode == 0, done.stderr
    return [Outcome(*json.loads(line)) for line in done.stdout.splitlines()]


def run_here(*arguments: str) -> Outcome:
    """Run a command in this process."""
    out, error = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(error):
        code = command_line.main(arguments)
    return Outcome(code, out.getvalue(), error.getvalue())


if __name__ == "__main__":
    for line in sys.stdin.read().splitlines():
        sys.stdout.write(f"{json.dumps(run_here(*json.loads(line)))}\n")
