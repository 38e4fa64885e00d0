"""Results go to stdout, and with `--json` nothing else does: other prints are sent to stderr."""

import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from contextvars import ContextVar
from typing import TextIO

from agents.language.text.clean import safe_json

_RESULTS: ContextVar[TextIO | None] = ContextVar("results", default=None)


def stdout() -> TextIO:
    """Return the stream for what a command was asked for."""
    return _RESULTS.get() or sys.stdout


def print_result(options: Namespace, result: object, lines: Sequence[str]) -> int:
    """Print what a command was asked for, as JSON with `--json`, else as lines; return exit code 0."""
    text = safe_json(result) if options.json else "\n".join(lines)
    stdout().write(text + "\n")
    return 0


@contextmanager
def results_alone() -> Iterator[None]:
    """Keep stdout for results during the block: what is printed otherwise goes to stderr.

    It holds for the whole process, so it must not begin while something else is running.
    """
    token = _RESULTS.set(sys.stdout)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        _RESULTS.reset(token)
