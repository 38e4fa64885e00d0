"""The log on stderr: a line an error; with `--trace` also warnings, and where errors come from.

As JSON each line is an object, which names the turn in which something was logged.
"""

import logging
import sys
import traceback
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from datetime import UTC, datetime
from logging.handlers import MemoryHandler
from types import TracebackType

from agents.events import Event
from agents.language.text.clean import clean, safe_json

Failure = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
MOST_HELD_RECORDS = 1000
"""Records held back at most."""
ABOVE_EVERY_LEVEL = logging.CRITICAL + 1


_TURN: ContextVar[Mapping[str, str | int]] = ContextVar("turn", default={})  # noqa: B039  # nobody writes into it


def name_turn(thread: str, turn: int) -> None:
    """Have a JSON log name the turn in which this task, or one that it begins, logs something."""
    _TURN.set({"thread": thread, "turn": turn})


class _Line(logging.Formatter):
    def __init__(self, *, detailed: bool, content: bool, as_json: bool) -> None:
        super().__init__("%(message)s")
        self._as_json = as_json
        self._detailed = detailed
        self._content = content

    def format(self, record: logging.LogRecord) -> str:
        # A record is every handler's, and logging keeps an exception's text in it as the first of them draws it.
        record = copy(record)
        record.exc_text = None
        if record.name == "asyncio" and not self._content:
            # Behind its first line asyncio writes the failed task, with the exception's words.
            record.msg, record.args = record.getMessage().partition("\n")[0], None
        if self._detailed or not record.exc_info:
            text = super().format(record)
        else:
            kind = record.exc_info[0]
            text = f"{record.getMessage()} ({kind and kind.__name__}; --trace tells where)"
        text = clean(text)
        for secret in _HIDDEN:
            text = text.replace(secret, "<secret>")
        if not self._as_json:
            # A text of somebody else never begins a line.
            return f"{record.levelname} {text}".replace("\n", "\n  ")
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        about = {"time": time, "level": record.levelname, "logger": record.name, **_TURN.get()}
        return safe_json({**about, "message": text})

    def formatException(self, ei: Failure) -> str:  # noqa: N802  # the name is logging's
        if self._content:
            return super().formatException(ei)
        # An exception's own words may quote what a user, a model or a tool said.
        return "".join(traceback.format_tb(ei[2])) + (ei[0].__name__ if ei[0] else "")


class HeldLog(MemoryHandler):
    """A log that comes out when a turn is over: in between it would garble what is redrawn in place."""

    def show(self, event: Event) -> None:
        """Wait: this screen shows no events."""

    def close(self) -> None:
        """Let the log out; more may follow."""
        self.flush()


_HIDDEN: list[str] = []


@contextmanager
def hidden(secret: str) -> Iterator[None]:
    """Keep a secret, such as a token in an address, out of the log during the block."""
    _HIDDEN.append(secret)
    try:
        yield
    finally:
        _HIDDEN.remove(secret)


@contextmanager
def log_on_stderr(
    *, detailed: bool, content: bool = False, held: bool = False, as_json: bool = False
) -> Iterator[HeldLog]:
    """Send the log to stderr during the block: at once, or if `held` after each turn; lines or JSON objects.

    Without `content` the words of exceptions are left out of tracebacks.
    """
    target = logging.StreamHandler(sys.stderr)
    target.setFormatter(_Line(detailed=detailed, content=content, as_json=as_json))
    log = HeldLog(MOST_HELD_RECORDS, flushLevel=ABOVE_EVERY_LEVEL if held else logging.NOTSET, target=target)
    root = logging.getLogger()
    level = root.level
    root.setLevel(logging.WARNING if detailed else logging.ERROR)
    root.addHandler(log)
    try:
        with warnings.catch_warnings():
            # They quote what a provider sent in place of a reply.
            warnings.filterwarnings("ignore", "Pydantic serializer warnings")
            yield log
    finally:
        root.removeHandler(log)
        root.setLevel(level)
        log.flush()


_SILENT: ContextVar[bool] = ContextVar("silent", default=False)


@contextmanager
def silence() -> Iterator[None]:
    """Keep what this task logs out of the log, and what the tasks log that it begins; others are heard meanwhile."""
    for handler in (*logging.root.handlers, logging.lastResort):
        if handler:
            handler.addFilter(_is_heard)
    token = _SILENT.set(True)
    try:
        yield
    finally:
        _SILENT.reset(token)


def _is_heard(_: logging.LogRecord) -> bool:
    return not _SILENT.get()
