"""Notes for a person: what users asked and nobody here could answer; kept until their thread is forgotten.

They are rare, so a connection is opened for each piece of work, and the table with the first note.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiosqlite

from agents.memory.connection import connect, writing
from agents.memory.inbox import clean, now_ms

TABLES = (
    """CREATE TABLE IF NOT EXISTS notes (
    id INTEGER PRIMARY KEY AUTOINCREMENT, thread TEXT NOT NULL, left_by TEXT NOT NULL, text TEXT NOT NULL,
    at_ms INTEGER NOT NULL, delivered_ms INTEGER, UNIQUE (thread, left_by))""",
    "CREATE INDEX IF NOT EXISTS notes_waiting ON notes (id) WHERE delivered_ms IS NULL",
)
COLUMNS = "SELECT id, thread, text, at_ms, delivered_ms FROM notes "
MOST = 20
"""Notes that a thread may leave within a day."""
DAY_MS = 24 * 3600 * 1000


@dataclass(frozen=True)
class Note:
    """A note as it is stored. Times are Unix ms; `delivered_ms` None: it was sent nowhere yet."""

    id: int
    thread: str
    text: str
    at_ms: int
    delivered_ms: int | None


class Notes:
    """Keep notes in SQLite; what a method has returned from survives a power cut."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.changed = asyncio.Event()
        """Set whenever a note was added through this object."""

    async def add(self, thread: str, text: str, call: str) -> bool:
        """Write a note down; once for a call that is repeated. False if the thread has left too many of late."""
        now = now_ms()
        thread, call = clean(thread), clean(call)
        async with self._writing() as connection:
            known = await connection.execute_fetchall(
                "SELECT 1 FROM notes WHERE thread = ? AND left_by = ?", (thread, call)
            )
            if known:
                return True
            recent = "SELECT count(*) FROM notes WHERE thread = ? AND at_ms > ?"
            [(count,)] = await connection.execute_fetchall(recent, (thread, now - DAY_MS))
            if count >= MOST:
                return False
            await connection.execute(
                "INSERT INTO notes (thread, left_by, text, at_ms) VALUES (?, ?, ?, ?)", (thread, call, clean(text), now)
            )
        self.changed.set()
        return True

    async def all(self) -> list[Note]:
        """Return the notes, oldest first."""
        return await self._select("ORDER BY id")

    async def waiting(self) -> list[Note]:
        """Return the notes that were not delivered yet, oldest first."""
        return await self._select("WHERE delivered_ms IS NULL ORDER BY id")

    async def delivered(self, note: Note) -> None:
        """Take note that a note has reached a person."""
        async with self._writing() as connection:
            now = now_ms()
            await connection.execute("UPDATE notes SET delivered_ms = ? WHERE id = ?", (now, note.id))

    async def erase(self, thread: str) -> bool:
        """Delete the notes of a thread; return False if there was none."""
        async with self._opened() as connection:
            if not await _is_there(connection):
                return False
            deleted = await connection.execute("DELETE FROM notes WHERE thread = ?", (clean(thread),))
            return deleted.rowcount > 0

    async def _select(self, rest: str) -> list[Note]:
        async with self._opened() as connection:
            if not await _is_there(connection):
                return []
            return [Note(*row) for row in await connection.execute_fetchall(COLUMNS + rest)]

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[aiosqlite.Connection]:
        async with connect(str(self._path), synchronous="FULL") as connection:
            yield connection

    @asynccontextmanager
    async def _writing(self) -> AsyncIterator[aiosqlite.Connection]:
        async with self._opened() as connection, writing(connection):
            for sql in TABLES:
                await connection.execute(sql)
            yield connection


async def _is_there(connection: aiosqlite.Connection) -> bool:
    found: Any = await connection.execute_fetchall("SELECT 1 FROM sqlite_master WHERE name = 'notes'")
    return bool(found)
