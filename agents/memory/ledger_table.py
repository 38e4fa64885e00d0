"""The table of done writes, and of those that were begun; see `agents.memory.ledger`."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Literal, Self

import aiosqlite

from agents.memory.connection import Connection, connect, writing
from agents.memory.inbox import clean

# An entry holds for the message that asked for the write, and until `until_ms` for every other message. `told` has for
# each thread the reply of a model that was answered: nobody knows whether the write took effect.
TABLE = """
CREATE TABLE IF NOT EXISTS ledger (
    key TEXT PRIMARY KEY, thread TEXT NOT NULL, user TEXT NOT NULL, message TEXT, outcome TEXT,
    told TEXT NOT NULL, at_ms INTEGER NOT NULL, until_ms INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID
"""
# Tables of before had a message only where its turn was all that an entry was good for.
GROW = (
    "ALTER TABLE ledger ADD COLUMN until_ms INTEGER NOT NULL DEFAULT 0",
    "UPDATE ledger SET until_ms = at_ms + 86400000 WHERE message IS NULL",
)
ENTER = """
INSERT OR REPLACE INTO ledger (key, thread, user, message, outcome, told, at_ms, until_ms)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""
HOLDS = "key = ?1 AND (until_ms > ?2 OR (thread = ?3 AND message = ?4))"
TELL = "UPDATE ledger SET told = json_patch(told, ?) WHERE key = ?"
OUTLIVED = "DELETE FROM ledger WHERE thread = ? AND message <> ? AND until_ms <= ?"
OLD = "DELETE FROM ledger WHERE max(until_ms, at_ms) <= ?"
LEFT_MS = 30 * 24 * 3600 * 1000
"""How long an entry that has run out is left for its own message, whose turn a crash may have cut off."""
SWEEP_MS = 3600 * 1000
"""How often a process deletes such entries; it reads the whole table."""
How = Literal["once", "again", "transaction"]
"""A write that was cut off: is not repeated unasked; may be done again; has left nothing, and is done again."""


@dataclass(frozen=True, kw_only=True)
class Write:
    """One write: its key, the user it is done for, and the message and the model's reply that asked for it."""

    key: str
    thread: str
    user: str
    message: str
    reply: str
    how: How = "once"
    lasts: float = 0
    """Seconds during which a later message that asks for it asks for the same write; with 0 it asks for a new one."""


class LedgerTable:
    """Keep in SQLite which writes were begun and which outcome they had; that survives a power cut."""

    def __init__(self, connection: Connection, now: Callable[[], float] = time.time) -> None:
        self.connection = connection
        self._lock = asyncio.Lock()
        self._now = now
        self._swept_ms = 0

    @classmethod
    @asynccontextmanager
    async def from_conn_string(cls, conn_string: str, now: Callable[[], float] = time.time) -> AsyncIterator[Self]:
        """Open the database file at `conn_string`; close it at the end. `now` tells the Unix time in seconds."""
        async with connect(conn_string, synchronous="FULL") as connection:
            entries = cls(connection, now)
            await entries.grow()
            yield entries

    async def grow(self) -> None:
        """Give the table of an older version what it lacks."""
        columns = [row[1] for row in await self.connection.execute_fetchall("PRAGMA table_info(ledger)")]
        if columns and "until_ms" not in columns:
            async with self.writing():
                for statement in GROW:
                    await self.connection.execute(statement)

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[None]:
        """Hold the file's write lock for a block; commit at its end, undo on any error."""
        async with self._lock, writing(self.connection):
            await self.connection.execute(TABLE)
            yield

    async def outcome(self, write: Write) -> str | None:
        """Return the outcome of a write that was done."""
        async with self._lock:
            if not await self._exists():
                return None
            return next((row[0] for row in await self._holding("outcome", write)), None)

    async def claim(self, write: Write) -> bool:
        """Enter that a write is begun; return False if it was begun before and the model that asks does not know it.

        The model is then told, and that is noted: when another reply in the same thread asks again, the write is begun
        anew.
        """
        async with self.writing():
            for (replies,) in await self._holding("told", write):
                if json.loads(replies).get(write.thread, write.reply) == write.reply:
                    await self._tell(write)
                    return False
            await self.enter(write, None)
        return True

    async def begin(self, write: Write) -> tuple[int, bool]:
        """Enter that a write is begun, unless it was before; return when it first was (Unix ms), and if that is now."""
        async with self.writing():
            for (at_ms,) in await self._holding("at_ms", write):
                return int(at_ms), False
            return await self.enter(write, None), True

    async def tell(self, write: Write) -> None:
        """Enter that the model that asked is told: nobody knows whether the write took effect."""
        async with self.writing():
            await self._tell(write)

    async def keep(self, write: Write, outcome: str) -> None:
        """Enter the outcome of a write."""
        async with self.writing():
            await self.enter(write, outcome)

    async def enter(self, write: Write, outcome: str | None) -> int:
        """Enter a write within `writing`, and delete entries of no further use; return the time in Unix ms."""
        at_ms = self._ms()
        until_ms = at_ms + round(write.lasts * 1000) if write.lasts else 0
        row = write.key, write.thread, write.user, write.message, outcome, "{}", at_ms, until_ms
        await self.connection.execute(OUTLIVED, (write.thread, write.message, at_ms))
        if not 0 <= at_ms - self._swept_ms < SWEEP_MS:
            await self.connection.execute(OLD, (at_ms - LEFT_MS,))
            self._swept_ms = at_ms
        await self.connection.execute(ENTER, row)
        return at_ms

    async def release(self, key: str) -> None:
        """Take the entry of a write back: nothing was written."""
        async with self.writing():
            await self.connection.execute("DELETE FROM ledger WHERE key = ?", (key,))

    async def erase(self, thread: str, users: set[str]) -> bool:
        """Delete the entries of a thread, and all those of the users; return False if the thread had none."""
        async with self._lock:
            if not await self._exists():
                return False
        async with self.writing():
            deleted = await self.connection.execute("DELETE FROM ledger WHERE thread = ?", (clean(thread),))
            await self.connection.executemany("DELETE FROM ledger WHERE user = ?", [(user,) for user in users])
        return deleted.rowcount > 0

    async def erase_part(self, thread: str, user: str) -> None:
        """Delete the entries of a user in a thread."""
        async with self._lock:
            if not await self._exists():
                return
        async with self.writing():
            sql = "DELETE FROM ledger WHERE thread = ? AND user = ?"
            await self.connection.execute(sql, (clean(thread), clean(user)))

    async def _holding(self, column: str, write: Write) -> Iterable[aiosqlite.Row]:
        """Return the entry that holds for a write, if there is one."""
        about = write.key, self._ms(), write.thread, write.message
        return await self.connection.execute_fetchall(f"SELECT {column} FROM ledger WHERE {HOLDS}", about)

    def _ms(self) -> int:
        return int(self._now() * 1000)

    async def _tell(self, write: Write) -> None:
        await self.connection.execute(TELL, (json.dumps({write.thread: write.reply}), write.key))

    async def _exists(self) -> bool:
        # Where nothing is written there is no table.
        return bool(await self.connection.execute_fetchall("SELECT 1 FROM sqlite_master WHERE name = 'ledger'"))
