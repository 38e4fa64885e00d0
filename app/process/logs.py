"""The log on stderr: a line for each error; with `--trace` also warnings, and the tracebacks of errors.

As JSON each line is an object, with the turn of the record.
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
"""The most records that are held back."""
ABOVE_EVERY_LEVEL = logging.CRITICAL + 1


_TURN: ContextVar[Mapping[str, str | int]] = ContextVar("turn", default={})  # noqa: B039  # nobody writes into it


def name_turn(thread: str, turn: int) -> None:
    """Set the turn for the JSON log's records of this task, and of the tasks that it begins."""
    _TURN.set({"thread": thread, "turn": turn})


class _Line(logging.Formatter):
    def __init__(self, *, detailed: bool, content: bool, as_json: bool) -> None:
        super().__init__("%(message)s")
        self._as_json = as_json
        self._detailed = detailed
        self._content = content

    def format(self, record: logging.LogRecord) -> str:
        # All handlers share a record, and logging keeps in it the exception's text of the first handler.
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
            # Foreign text must never begin a line.
            return f"{record.levelname} {text}".replace("\n", "\n  ")
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        about = {"time": time, "level": record.levelname, "logger": record.name, **_TURN.get()}
        return safe_json({**about, "message": text})

    def formatException(self, ei: Failure) -> str:  # noqa: N802  # the name is logging's
        if self._content:
            return super().formatException(ei)
        # An exception's own words may quote a user, a model or a tool.
        return "".join(traceback.format_tb(ei[2])) + (ei[0].__name__ if ei[0] else "")


class HeldLog(MemoryHandler):
    """A log that comes out when a turn is over: during the turn it would garble the redrawn lines."""

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
            # These warnings quote a provider's data in place of a reply.
            warnings.filterwarnings("ignore", "Pydantic serializer warnings")
            yield log
    finally:
        root.removeHandler(log)
        root.setLevel(level)
        log.flush()


_SILENT: ContextVar[bool] = ContextVar("silent", default=False)


@contextmanager
def silence() -> Iterator[None]:
    """Silence the log of this task, and of the tasks that it begins; the records of other tasks pass."""
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
