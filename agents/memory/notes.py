"""Notes for a person: users' questions that nobody here could answer; kept until their thread is forgotten."""

import asyncio
from dataclasses import dataclass

from agents.memory.connection import Connection, Session
from agents.memory.digests import Digests
from agents.memory.inbox import now_ms, storable

TABLES = """
CREATE TABLE notes (
    id INTEGER PRIMARY KEY AUTOINCREMENT, thread TEXT NOT NULL, left_by TEXT NOT NULL, text TEXT NOT NULL,
    at_ms INTEGER NOT NULL, delivered_ms INTEGER, UNIQUE (thread, left_by));
CREATE INDEX notes_waiting ON notes (id) WHERE delivered_ms IS NULL;
CREATE TABLE note_counts (user_hash TEXT NOT NULL, at_ms INTEGER NOT NULL);
"""
NOTES = "SELECT id, thread, text, at_ms, delivered_ms FROM notes"
SAME_CALL = "SELECT 1 FROM notes WHERE thread = ? AND left_by = ?"
DROP_COUNTS = "DELETE FROM note_counts WHERE at_ms <= ?"
RECENT = "SELECT count(*) FROM note_counts WHERE user_hash = ?"
COUNT = "INSERT INTO note_counts (user_hash, at_ms) VALUES (?, ?)"
ADD = "INSERT INTO notes (thread, left_by, text, at_ms) VALUES (:thread, :left_by, :text, :at_ms)"
DELIVERED = "UPDATE notes SET delivered_ms = ? WHERE id = ?"
DAY_MS = 24 * 3600 * 1000


@dataclass(frozen=True)
class Note:
    """A note as it is stored. Times are Unix ms; `delivered_ms` None: it was sent nowhere yet."""

    id: int
    thread: str
    text: str
    at_ms: int
    delivered_ms: int | None


class NoteStore:
    """Keep notes in SQLite; a write survives a power cut once its method has returned."""

    def __init__(self, connection: Connection, digests: Digests) -> None:
        self._connection, self._digests = connection, digests
        self.changed = asyncio.Event()
        """Set whenever a note was added through this object."""

    async def add(self, thread: str, text: str, call: str, user: str, most: int) -> bool:
        """Write a note down, once for a repeated call; False if the user has left `most` within a day.

        The count outlives the notes: a user who has a thread forgotten may not leave more than others. It holds only a
        keyed digest of the user, for a day.
        """
        now = now_ms()
        thread, call = storable(thread), storable(call)
        user_hash = self._digests.of(user)

        def insert(connection: Session) -> bool:
            if connection.execute(SAME_CALL, (thread, call)).fetchone():
                return True
            connection.execute(DROP_COUNTS, (now - DAY_MS,))
            if connection.execute(RECENT, (user_hash,)).fetchone()[0] >= most:
                return False
            connection.execute(COUNT, (user_hash, now))
            connection.execute(ADD, {"thread": thread, "left_by": call, "text": storable(text), "at_ms": now})
            return True

        is_noted = await self._connection.write(insert)
        if is_noted:
            self.changed.set()
        return is_noted

    async def all(self) -> list[Note]:
        """Return the notes, oldest first."""
        return [Note(*row) for row in await self._connection.execute(f"{NOTES} ORDER BY id")]

    async def waiting(self) -> list[Note]:
        """Return the notes that were not delivered yet, oldest first."""
        rows = await self._connection.execute(f"{NOTES} WHERE delivered_ms IS NULL ORDER BY id")
        return [Note(*row) for row in rows]

    async def delivered(self, note: Note) -> None:
        """Take note that a note has reached a person."""
        await self._connection.execute(DELIVERED, (now_ms(), note.id))

    async def erase(self, thread: str) -> bool:
        """Delete the notes of a thread; return False if there was none."""
        sql, values = "DELETE FROM notes WHERE thread = ?", (storable(thread),)
        return await self._connection.write(lambda connection: connection.execute(sql, values).rowcount) > 0
