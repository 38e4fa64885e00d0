"""The table of done writes, and of those that were begun; see `agents.memory.ledger`."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Literal, Self

import aiosqlite

from agents.memory.connection import connect, writing
from agents.memory.letters import clean

# `message` is set where an entry is of no use after the message's turn. `told` says, by thread, in answer to which
# reply of a model it was told that nobody knows whether the write took effect.
TABLE = """
CREATE TABLE IF NOT EXISTS ledger (
    key TEXT PRIMARY KEY, thread TEXT NOT NULL, user TEXT NOT NULL, message TEXT, outcome TEXT,
    told TEXT NOT NULL, at_ms INTEGER NOT NULL) WITHOUT ROWID
"""
ENTER = "INSERT OR REPLACE INTO ledger (key, thread, user, message, outcome, told, at_ms) VALUES (?, ?, ?, ?, ?, ?, ?)"
TELL = "UPDATE ledger SET told = json_patch(told, ?) WHERE key = ?"
OUTLIVED = "DELETE FROM ledger WHERE thread = ? AND message <> ?"
How = Literal["once", "again", "transaction"]
"""A write that was cut off: is not repeated unasked; may be done again; has left nothing, and is done again."""


@dataclass(frozen=True, kw_only=True)
class Write:
    """One write: what it is known by, for whom it is done, and by which reply to which message it was asked for."""

    key: str
    thread: str
    user: str
    message: str
    reply: str
    how: How = "once"
    lasting: bool = False
    """Whether a later message may ask for the same write."""


class Entries:
    """Keep in SQLite which writes were begun and which outcome they had; that survives a power cut."""

    def __init__(self, connection: aiosqlite.Connection) -> None:
        self.connection = connection
        self._lock = asyncio.Lock()

    @classmethod
    @asynccontextmanager
    async def from_conn_string(cls, conn_string: str) -> AsyncIterator[Self]:
        """Open the database file at `conn_string`; close it at the end."""
        async with connect(conn_string, synchronous="FULL") as connection:
            yield cls(connection)

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[None]:
        """Hold the file's write lock for a block; commit at its end, undo on any error."""
        async with self._lock, writing(self.connection):
            await self.connection.execute(TABLE)
            yield

    async def outcome(self, key: str) -> str | None:
        """Return the outcome of a write that was done."""
        async with self._lock:
            if not await self._exists():
                return None
            rows = await self.connection.execute_fetchall("SELECT outcome FROM ledger WHERE key = ?", (key,))
            return next((row[0] for row in rows), None)

    async def claim(self, write: Write) -> bool:
        """Enter that a write is begun; return False if it was begun before, and that was not told to who asks.

        That it was told is noted then: asked for once more, by another reply in the same thread, it is begun anew.
        """
        async with self.writing():
            rows = await self.connection.execute_fetchall("SELECT told FROM ledger WHERE key = ?", (write.key,))
            for (told,) in rows:
                if json.loads(told).get(write.thread, write.reply) == write.reply:
                    await self._tell(write)
                    return False
            await self.enter(write, None)
        return True

    async def tell(self, write: Write) -> None:
        """Enter that who asked is told that nobody knows whether the write took effect."""
        async with self.writing():
            await self._tell(write)

    async def keep(self, write: Write, outcome: str) -> None:
        """Enter what came of a write."""
        async with self.writing():
            await self.enter(write, outcome)

    async def enter(self, write: Write, outcome: str | None) -> None:
        """Enter a write within `writing`, and drop what the thread has no use for any more."""
        message = None if write.lasting else write.message
        row = write.key, write.thread, write.user, message, outcome, "{}", time.time_ns() // 1_000_000
        await self.connection.execute(OUTLIVED, (write.thread, write.message))
        await self.connection.execute(ENTER, row)

    async def release(self, write: Write) -> None:
        """Take the entry of a write back: nothing was written."""
        async with self.writing():
            await self.connection.execute("DELETE FROM ledger WHERE key = ?", (write.key,))

    async def erase(self, thread: str, users: set[str]) -> bool:
        """Delete the entries of a thread, and all those of the users; return False if the thread had none."""
        async with self._lock:
            if not await self._exists():
                return False
        async with self.writing():
            deleted = await self.connection.execute("DELETE FROM ledger WHERE thread = ?", (clean(thread),))
            await self.connection.executemany("DELETE FROM ledger WHERE user = ?", [(user,) for user in users])
        return deleted.rowcount > 0

    async def _tell(self, write: Write) -> None:
        await self.connection.execute(TELL, (json.dumps({write.thread: write.reply}), write.key))

    async def _exists(self) -> bool:
        # Where nothing is written there is no table.
        return bool(await self.connection.execute_fetchall("SELECT 1 FROM sqlite_master WHERE name = 'ledger'"))
