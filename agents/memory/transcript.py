"""The inbox and the transcript: what was asked and what reached the user, kept for good."""

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from agents.errors import UsageError
from agents.memory import gate_log, inbox, inbox_updates
from agents.memory.connection import Connection, Row, writing
from agents.memory.inbox import InboxEntry, Status, ThreadInfo, TranscriptLine, clean
from agents.memory.inbox_sql import (
    ERASE,
    ERASE_PART,
    EXTENDED,
    LATEST,
    LETTERS,
    ONE,
    QUOTED,
    RECORDS,
    TABLES,
    THREADS,
    THREADS_OF,
    UNTOLD,
    USERS,
    WITHDRAWN,
)

RECORDED = 300
"""Turns of a thread, from its first, whose record is kept."""


class Transcript:
    """Keep inbox and transcript in SQLite; what a method has returned from survives a power cut."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def setup(self) -> None:
        """Create the tables."""
        async with writing(self._connection):
            for sql in TABLES:
                await self._connection.execute(sql)
            columns = await self._connection.execute_fetchall("PRAGMA table_info(inbox)")
            if "quoted" not in {row[1] for row in columns}:
                await self._connection.execute(QUOTED)

    async def accept(self, entry: InboxEntry, updates: Sequence[int] = ()) -> InboxEntry:
        """Put a message into the inbox and return it as stored; do nothing when it is there already.

        The messenger's updates that it is made of are closed with it. Raises UsageError when the id was used for
        another text, or a name is unfit for storage.
        """

        def accept(connection: sqlite3.Connection) -> InboxEntry:
            stored = inbox.accept(_storable(entry), connection)
            if stored.status in ("open", "failed"):
                inbox_updates.link(connection, stored.thread, stored.message_id, updates)
            return stored

        return await self._connection.write(accept)

    async def extend(self, entry: InboxEntry, updates: Sequence[int] = ()) -> bool:
        """Give an open message of the inbox another text, source and what it refers to; False if it is not open.

        The messenger's updates that came to it are closed with it.
        """
        storable = _storable(entry)

        def extend(connection: sqlite3.Connection) -> bool:
            values = storable.text, storable.source, storable.quoted, storable.thread, storable.message_id
            is_open = connection.execute(EXTENDED, values).rowcount > 0
            if is_open:
                inbox_updates.link(connection, storable.thread, storable.message_id, updates)
            return is_open

        return await self._connection.write(extend)

    async def withdraw(self, thread: str, message_id: str) -> None:
        """Take a message out of the inbox that is open and will not be answered; its updates are closed."""

        def withdraw(connection: sqlite3.Connection) -> None:
            place = clean(thread), clean(message_id)
            if connection.execute(WITHDRAWN, place).rowcount:
                inbox_updates.close_with(connection, *place)

        await self._connection.write(withdraw)

    async def accept_in_order(self, entry: InboxEntry) -> list[InboxEntry]:
        """Do what `accept` does; return the open messages that came before this one, oldest first, and then it."""
        return await self._connection.write(partial(inbox.accept_in_order, _storable(entry)))

    async def entry(self, thread: str, message_id: str) -> InboxEntry | None:
        """Return a message of the inbox."""
        entries = await self._letters(ONE, clean(thread), clean(message_id))
        return entries[0] if entries else None

    async def last(self, thread: str, user: str | None = None) -> InboxEntry | None:
        """Return the message of the thread, or of one user in it, that was received last."""
        who, values = ("", ()) if user is None else ("AND user = ? ", (clean(user),))
        entries = await self._letters(f"{who}ORDER BY id DESC LIMIT 1", clean(thread), *values)
        return entries[0] if entries else None

    async def open_entries(self, thread: str) -> list[InboxEntry]:
        """Return the messages of the thread that were never closed, oldest first."""
        return await self._connection.read(partial(inbox.open_entries, clean(thread)))

    async def close(
        self,
        letter: InboxEntry,
        status: Status,
        turn: int,
        lines: Sequence[TranscriptLine],
        record: str | None = None,
        guess: gate_log.Outcome | None = None,
    ) -> None:
        """Append the user's text and then `lines`, as far as they are not there yet, and set the outcome.

        All in one transaction, with the record (one line) of a turn that is among the first, and what came of the
        gate's guess. The updates that the message is made of are closed with it if it is done; how a stopped or failed
        turn ended is shown after it was stored. `lines` count as written for this message and turn.

        Raises:
            UsageError: the message was never accepted.
        """
        lines = [replace(line, text=clean(line.text), turn=turn, message_id=letter.message_id) for line in lines]
        closed = replace(letter, status=status, turn=turn)
        stored = None if record is None or turn > RECORDED else clean(record)

        def close(connection: sqlite3.Connection) -> None:
            inbox.close(connection, closed, lines, stored, guess)
            if status == "done":
                inbox_updates.close_with(connection, clean(letter.thread), clean(letter.message_id))

        await self._connection.write(close)

    async def tell(self, thread: str, line: TranscriptLine) -> TranscriptLine:
        """Append a line that nobody asked for to the last turn, and return it; do nothing if its id is there."""
        line = replace(line, text=clean(line.text), message_id=clean(line.message_id))
        return await self._connection.write(partial(inbox.tell, clean(thread), line))

    async def take_back(self, thread: str, message_id: str) -> None:
        """Delete a line that `tell` has appended and that did not reach the user."""
        values = clean(thread), clean(message_id)
        await self._connection.write(lambda connection: connection.execute(UNTOLD, values).rowcount)

    async def latest(self, after: int | None) -> list[tuple[int, str, int]]:
        """Return row, thread and time (Unix ms) of the last line of each thread, oldest first.

        Only lines behind the row `after` count; without it the last 10,000.
        """
        sql, value = LATEST, (after,)
        return await self._connection.read(lambda connection: connection.execute(sql, value).fetchall())

    async def lines(
        self, thread: str, *, message_id: str | None = None, limit: int | None = None
    ) -> list[TranscriptLine]:
        """Return the lines of a thread or of one message, oldest first; with `limit` only the last ones."""
        message = None if message_id is None else clean(message_id)
        most = -1 if limit is None else limit
        return await self._connection.read(lambda connection: inbox.lines_of(connection, clean(thread), message, most))

    async def records(self, thread: str) -> list[tuple[str, str | None, str | None]]:
        """Return id, text and record of a thread's messages; the record has a line for each try."""
        return [(id, text, record) for id, text, record in await self._rows(RECORDS, clean(thread))]

    async def guesses(self, model: str) -> list[gate_log.Logged]:
        """Return what the gate guessed with these weights, and what came of it, oldest first."""
        return await self._connection.read(lambda connection: gate_log.logged(connection, model))

    async def threads(self) -> list[ThreadInfo]:
        """List the threads, the one that was active last first."""
        return [ThreadInfo(*row) for row in await self._rows(THREADS)]

    async def users_of(self, thread: str) -> set[str]:
        """Return the users who wrote in a thread."""
        return {row[0] for row in await self._rows(USERS, clean(thread))}

    async def threads_of(self, user: str) -> set[str]:
        """Return the threads in which a user wrote."""
        return {row[0] for row in await self._rows(THREADS_OF, clean(user))}

    async def erase(self, thread: str) -> None:
        """Delete inbox and transcript of the thread."""

        def delete(connection: sqlite3.Connection) -> None:
            for sql in ERASE:
                connection.execute(sql, (clean(thread),))

        await self._connection.write(delete)

    async def erase_part(self, thread: str, user: str, note: str) -> bool:
        """Delete what a user said in a thread and was answered, inbox included; return False if there was nothing.

        `note` is the key of a line's metadata that names the user whom a line was for.
        """

        def delete(connection: sqlite3.Connection) -> int:
            values = {"thread": clean(thread), "user": clean(user), "note": f"$.{note}"}
            return sum(connection.execute(sql, values).rowcount for sql in ERASE_PART)

        return await self._connection.write(delete) > 0

    async def _letters(self, rest: str, *values: str) -> list[InboxEntry]:
        return [InboxEntry(*row) for row in await self._rows(LETTERS + rest, *values)]

    async def _rows(self, sql: str, *values: str) -> list[Row]:
        return await self._connection.read(lambda connection: connection.execute(sql, values).fetchall())


def _storable(entry: InboxEntry) -> InboxEntry:
    names = entry.thread, entry.message_id, entry.user, entry.source
    if any(clean(name) != name for name in names):
        raise UsageError("Thread, message id, user and source must not contain NUL or lone surrogates.")
    quoted = None if entry.quoted is None else clean(entry.quoted)
    return replace(entry, text=None if entry.text is None else clean(entry.text), quoted=quoted, status="open")
