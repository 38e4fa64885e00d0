"""The inbox and the transcript: what was asked and what reached the user, kept for good."""

import asyncio
import json
import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

import aiosqlite

from agents.errors import UsageError
from agents.memory.connection import connect, writing
from agents.memory.tables import (
    CLOSED,
    ERASE,
    LAST_TURN,
    LETTERS,
    LINES,
    ONLY_HERE,
    RECORD,
    RECORDS,
    STATE,
    TABLES,
    THREADS,
)

Outcome = Literal["done", "failed", "interrupted"]
RECORDED = 300
"""Turns of a thread, from its first, whose record is kept."""


@dataclass(frozen=True)
class Letter:
    """A message as it was received; `text` is None when the assistant shall speak unasked."""

    thread: str
    message_id: str
    user: str
    text: str | None
    source: str
    status: Literal["open", "done", "failed", "interrupted"] = "open"
    turn: int = 0


@dataclass(frozen=True)
class Line:
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


def clean(text: str) -> str:
    """Return `text` fit for storage: NUL dropped, lone surrogates replaced by U+FFFD."""
    return re.sub("[\ud800-\udfff]", "\ufffd", text.replace("\0", ""))


class Transcript:
    """Keep inbox and transcript in SQLite; what a method has returned from survives a power cut."""

    def __init__(self, connection: aiosqlite.Connection) -> None:
        self._connection = connection
        self._lock = asyncio.Lock()

    @classmethod
    @asynccontextmanager
    async def from_conn_string(cls, conn_string: str) -> AsyncIterator[Self]:
        """Open the database file at `conn_string` and create the tables; close it at the end."""
        async with connect(conn_string, synchronous="FULL") as connection:
            async with writing(connection):
                for sql in TABLES:
                    await connection.execute(sql)
            yield cls(connection)

    async def accept(self, entry: Letter) -> Letter:
        """Put a message into the inbox and return it as stored; do nothing when it is there already.

        Raises UsageError when the id was used for another text, or a name is unfit for storage.
        """
        names = entry.thread, entry.message_id, entry.user, entry.source
        if any(clean(name) != name for name in names):
            raise UsageError("Thread, message id, user and source must not contain NUL or lone surrogates.")
        entry = replace(entry, text=None if entry.text is None else clean(entry.text), status="open")
        async with self._writing():
            if known := await self._letters("AND message_id = ?", entry.thread, entry.message_id):
                if known[0].text != entry.text:
                    raise UsageError(
                        f"Message {entry.message_id!r} was received before with another text; use a new id."
                    )
                return known[0]
            await self._connection.execute(
                "INSERT INTO inbox (thread, message_id, user, source, text, turn, status, received_ms)"
                " VALUES (?, ?, ?, ?, ?, ?, 'open', ?)",
                (*names, entry.text, entry.turn, time.time_ns() // 1_000_000),
            )
        return entry

    async def letter(self, thread: str, message_id: str) -> Letter | None:
        """Return a message of the inbox."""
        found = await self._letters("AND message_id = ?", clean(thread), clean(message_id))
        return found[0] if found else None

    async def last(self, thread: str) -> Letter | None:
        """Return the message of the thread that was received last."""
        found = await self._letters("ORDER BY id DESC LIMIT 1", clean(thread))
        return found[0] if found else None

    async def open_letters(self, thread: str) -> list[Letter]:
        """Return the messages of the thread that were never closed, oldest first."""
        return await self._letters("AND status = 'open' ORDER BY id", clean(thread))

    async def close(
        self, letter: Letter, status: Outcome, turn: int, lines: Sequence[Line], record: str | None = None
    ) -> None:
        """Append the user's text and then `lines`, as far as they are not there yet, and set the outcome.

        All in one transaction, with the record (one line) of a turn that is among the first. `lines` count as
        written for this message and turn. Raises UsageError when the message was never accepted.
        """
        async with self._writing():
            place = clean(letter.thread), clean(letter.message_id)
            rows = list(await self._connection.execute_fetchall(STATE, place))
            if not rows:
                raise UsageError(f"Message {letter.message_id!r} of thread {letter.thread!r} was never accepted.")
            row, user, text, source, received, first, was = rows[0]
            written: Counter[tuple[str, str, str]] = Counter()
            if was != "open":
                known = await self._lines(*place, limit=-1)
                written.update((line.role, line.speaker, line.text) for line in known)
            if text is not None:
                heard = Line("user", user, text, turn, letter.message_id, received, {"source": source})
                first = await self._append(letter.thread, heard)
            for line in lines:
                line = replace(line, text=clean(line.text), turn=turn, message_id=letter.message_id)
                key = line.role, line.speaker, line.text
                if not written[key]:
                    await self._append(letter.thread, line)
                else:
                    written[key] -= 1
            await self._connection.execute(CLOSED, (status, turn, first, row))
            if record is not None and turn <= RECORDED:
                await self._connection.execute(RECORD, (row, clean(record)))

    async def tell(self, thread: str, line: Line) -> Line:
        """Append what was said unasked, in the turn that was last, and return it; do nothing if its id is there."""
        place = clean(thread), clean(line.message_id)
        async with self._writing():
            if known := await self._lines(*place, limit=1):
                return known[0]
            [(turn,)] = await self._connection.execute_fetchall(LAST_TURN, place[:1])
            line = replace(line, text=clean(line.text), message_id=place[1], turn=turn)
            await self._append(place[0], line)
        return line

    async def lines(self, thread: str, *, message_id: str | None = None, limit: int | None = None) -> list[Line]:
        """Return the lines of a thread or of one message, oldest first; with `limit` only the last ones."""
        message = None if message_id is None else clean(message_id)
        async with self._lock:
            return await self._lines(clean(thread), message, limit=-1 if limit is None else limit)

    async def records(self, thread: str) -> list[tuple[str, str | None, str | None]]:
        """Return id, text and record of a thread's messages; the record has a line for each try."""
        async with self._lock:
            return [(*row,) for row in await self._connection.execute_fetchall(RECORDS, (clean(thread),))]

    async def threads(self) -> list[ThreadInfo]:
        """List the threads, the one that was active last first."""
        async with self._lock:
            return [ThreadInfo(*row) for row in await self._connection.execute_fetchall(THREADS)]

    async def only_here(self, thread: str) -> set[str]:
        """Return the users of the thread that have no other thread."""
        async with self._lock:
            return {row[0] for row in await self._connection.execute_fetchall(ONLY_HERE, (clean(thread),))}

    async def erase(self, thread: str) -> set[str]:
        """Delete inbox and transcript of the thread; return its users that have no other thread."""
        alone = await self.only_here(thread)
        async with self._writing():
            for sql in ERASE:
                await self._connection.execute(sql, (clean(thread),))
        return alone

    @asynccontextmanager
    async def _writing(self) -> AsyncIterator[None]:
        async with self._lock, writing(self._connection):
            yield

    async def _letters(self, rest: str, *values: str) -> list[Letter]:
        return [Letter(*row) for row in await self._connection.execute_fetchall(LETTERS + rest, values)]

    async def _lines(self, thread: str, message_id: str | None, limit: int) -> list[Line]:
        rows = await self._connection.execute_fetchall(LINES, (thread, message_id, limit))
        return [Line(*[*row[:-1], json.loads(row[-1])]) for row in map(tuple, rows)]

    async def _append(self, thread: str, line: Line) -> int | None:
        metadata = clean(json.dumps(line.metadata, ensure_ascii=False))
        cursor = await self._connection.execute(
            "INSERT INTO transcript (thread, turn, message_id, role, speaker, text, at_ms, metadata)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (thread, line.turn, line.message_id, line.role, line.speaker, line.text, line.at_ms, metadata),
        )
        return cursor.lastrowid
