"""Where results go: to stdout alone, whatever else a tool or a dialog prints on the way."""

import json
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from contextvars import ContextVar
from typing import TextIO

_KEPT: ContextVar[TextIO | None] = ContextVar("kept", default=None)


def stdout() -> TextIO:
    """Return the stream for what a command was asked for."""
    return _KEPT.get() or sys.stdout


def print_result(options: Namespace, result: object, lines: Sequence[str]) -> int:
    """Print what a command was asked for, as JSON with `--json`, else as lines; return exit code 0."""
    text = json.dumps(result, ensure_ascii=False, default=str) if options.json else "\n".join(lines)
    stdout().write(text + "\n")
    return 0


@contextmanager
def results_alone() -> Iterator[None]:
    """Keep stdout for results during the block: what is printed otherwise goes to stderr.

    It holds for the whole process, so it must not begin while something else is running.
    """
    token = _KEPT.set(sys.stdout)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        _KEPT.reset(token)
