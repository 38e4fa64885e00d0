"""The rows of inbox and transcript, and the transactions on them.

The functions run in the thread of a connection, inside a transaction that is begun and ended for them.
"""

import json
import re
import sqlite3
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from agents.errors import UsageError
from agents.memory import gate_log
from agents.memory.inbox_sql import CLOSED, LAST_TURN, LETTERS, LINES, ONE, RECEIVED, RECORD, SAID, STATE

Status = Literal["done", "failed", "interrupted"]


@dataclass(frozen=True)
class InboxEntry:
    """A message as it was received; `text` is None when the assistant shall speak unasked."""

    thread: str
    message_id: str
    user: str
    text: str | None
    source: str
    status: Literal["open", "done", "failed", "interrupted"] = "open"
    turn: int = 0
    quoted: str | None = None
    """What the message refers to, as JSON."""
    received_ms: int = field(default=0, compare=False)
    """When it was received, Unix time in ms; 0 for a message that is not stored yet."""


@dataclass(frozen=True)
class TranscriptLine:
    """One line of a transcript. `at_ms` is Unix time in milliseconds."""

    role: Literal["user", "assistant"]
    speaker: str
    text: str
    turn: int
    message_id: str
    at_ms: int
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ThreadInfo:
    """A thread in a list: who wrote last, how many turns, when something was said last (Unix ms)."""

    thread: str
    user: str
    turns: int
    active_ms: int
    first: str = ""
    """The first thing that a user said in it."""


def clean(text: str) -> str:
    """Return `text` fit for storage: NUL dropped, lone surrogates replaced by U+FFFD."""
    return re.sub("[\ud800-\udfff]", "\ufffd", text.replace("\0", ""))


def now_ms() -> int:
    """Return the Unix time in milliseconds."""
    return time.time_ns() // 1_000_000


def open_entries(thread: str, connection: sqlite3.Connection) -> list[InboxEntry]:
    """Return the messages of a thread that were never closed, oldest first."""
    return [InboxEntry(*row) for row in connection.execute(f"{LETTERS} AND status = 'open' ORDER BY id", (thread,))]


def accept_in_order(entry: InboxEntry, connection: sqlite3.Connection) -> list[InboxEntry]:
    """Put a message into the inbox, if it is not there; return the open messages before it, then the message."""
    stored = accept(entry, connection)
    waiting = open_entries(entry.thread, connection)
    return waiting[: waiting.index(stored) + 1] if stored in waiting else [stored]


def accept(entry: InboxEntry, connection: sqlite3.Connection) -> InboxEntry:
    """Put a message into the inbox, if it is not there."""
    names = entry.thread, entry.message_id, entry.user, entry.source
    row = connection.execute(LETTERS + ONE, names[:2]).fetchone()
    if row is None:
        entry = replace(entry, received_ms=now_ms())
        connection.execute(RECEIVED, (*names, entry.text, entry.turn, entry.received_ms, entry.quoted))
        return entry
    stored = InboxEntry(*row)
    if stored.text != entry.text:
        raise UsageError(f"Message {entry.message_id!r} was received before with another text; use a new id.")
    return stored


def close(
    connection: sqlite3.Connection,
    letter: InboxEntry,
    lines: Sequence[TranscriptLine],
    record: str | None,
    guess: gate_log.Outcome | None,
) -> None:
    """Append the user's text and the lines that are not there yet, and set status and turn of the letter."""
    place = clean(letter.thread), clean(letter.message_id)
    state = connection.execute(STATE, place).fetchone()
    if state is None:
        raise UsageError(f"Message {letter.message_id!r} of thread {letter.thread!r} was never accepted.")
    row, user, text, source, received, first, was, quoted = state
    written: Counter[tuple[str, str, str]] = Counter()
    if was != "open":
        written.update((line.role, line.speaker, line.text) for line in lines_of(connection, *place, limit=-1))
    if text is not None:
        metadata = {"source": source, **({"quoted": json.loads(quoted)} if quoted else {})}
        heard = TranscriptLine("user", user, text, letter.turn, letter.message_id, received, metadata)
        first = append(connection, letter.thread, heard)
    for line in lines:
        key = line.role, line.speaker, line.text
        if not written[key]:
            append(connection, letter.thread, line)
        else:
            written[key] -= 1
    connection.execute(CLOSED, (letter.status, letter.turn, first, row))
    if record is not None:
        connection.execute(RECORD, (row, record))
    if guess is not None:
        gate_log.log(connection, letter.thread, row, guess)


def tell(thread: str, line: TranscriptLine, connection: sqlite3.Connection) -> TranscriptLine:
    """Append a line to the turn that was last, if it is not there."""
    if lines := lines_of(connection, thread, line.message_id, limit=1):
        return lines[0]
    (turn,) = connection.execute(LAST_TURN, (thread,)).fetchone()
    line = replace(line, turn=turn)
    append(connection, thread, line)
    return line


def lines_of(connection: sqlite3.Connection, thread: str, message_id: str | None, limit: int) -> list[TranscriptLine]:
    """Return the last lines of a thread or of one message, oldest first; with a limit of -1 all."""
    rows = connection.execute(LINES, (thread, message_id, limit)).fetchall()
    return [TranscriptLine(*[*row[:-1], json.loads(row[-1])]) for row in rows]


def append(connection: sqlite3.Connection, thread: str, line: TranscriptLine) -> int | None:
    """Append a line and return its row id."""
    metadata = clean(json.dumps(line.metadata, ensure_ascii=False))
    values = thread, line.turn, line.message_id, line.role, line.speaker, line.text, line.at_ms, metadata
    return connection.execute(SAID, values).lastrowid
