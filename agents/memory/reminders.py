"""Reminders: what a user shall be told, and when; a table of its own, with an index on what is due.

A row stays when it has rung or was deleted: a call that is repeated after a crash finds its work done.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, Self

import aiosqlite

from agents.errors import UsageError
from agents.memory.connection import connect, writing
from agents.memory.inbox import clean
from agents.memory.reminder_row import Reminder, columns, unix_ms
from agents.schedule import Moment

TABLES = (
    """CREATE TABLE IF NOT EXISTS reminders (
    id INTEGER PRIMARY KEY AUTOINCREMENT, user TEXT NOT NULL, thread TEXT NOT NULL, added_by TEXT NOT NULL,
    number INTEGER NOT NULL, text TEXT NOT NULL, lang TEXT NOT NULL, zone TEXT NOT NULL,
    rule TEXT, start TEXT, at_ms INTEGER NOT NULL, due_ms INTEGER, rung_ms INTEGER,
    changed_by TEXT NOT NULL DEFAULT '', UNIQUE (user, added_by))""",
    "CREATE INDEX IF NOT EXISTS reminders_due ON reminders (due_ms) WHERE due_ms IS NOT NULL",
)
COLUMNS = "SELECT id, user, thread, number, text, lang, zone, rule, start, at_ms, due_ms, rung_ms FROM reminders "
LIVE = "(due_ms IS NOT NULL OR rung_ms > ?)"
REMEMBERED_MS = 24 * 3600 * 1000
"""How long one that has rung may still be put off, in milliseconds."""
MOST = 200
"""Reminders that a user may have at a time."""


class Reminders:
    """Keep reminders in SQLite; what a method has returned from survives a power cut.

    Times are Unix milliseconds; `now` tells the present one, in seconds.
    """

    def __init__(self, connection: aiosqlite.Connection, now: Callable[[], float]) -> None:
        self._connection, self.now = connection, now
        self._lock = asyncio.Lock()
        self.changed = asyncio.Event()
        """Set whenever a reminder was added or changed through this object."""

    @classmethod
    @asynccontextmanager
    async def from_conn_string(cls, conn_string: str, now: Callable[[], float]) -> AsyncIterator[Self]:
        """Open the database file at `conn_string`; close it at the end."""
        async with connect(conn_string, synchronous="FULL") as connection:
            yield cls(connection, now)

    async def add(self, user: str, thread: str, call: str, *, text: str, lang: str, moment: Moment) -> Reminder:
        """Add a reminder; a call that has done so before is given what it added.

        Raises:
            UsageError: the user has too many.
        """
        async with self._writing():
            if known := await self._select("WHERE user = ? AND added_by = ?", user, call):
                return known[0]
            live = await self._live(user)
            if len(live) >= MOST:
                raise UsageError(f"There are {MOST} reminders already; delete one first.")
            number = max((reminder.number for reminder in live), default=0) + 1
            values = dict(user=user, thread=thread, added_by=call, number=number, text=clean(text), lang=lang)
            await self._execute(
                "INSERT INTO reminders (user, thread, added_by, number, text, lang, zone, rule, start, at_ms, due_ms)"
                " VALUES (:user, :thread, :added_by, :number, :text, :lang, :zone, :rule, :start, :at_ms, :at_ms)",
                {**values, **columns(moment)},
            )
            return (await self._select("WHERE user = ? AND added_by = ?", user, call))[0]

    async def live(self, user: str) -> list[Reminder]:
        """Return the user's reminders to come, and those that have just rung, by number."""
        async with self._lock:
            return await self._live(user)

    async def change(self, reminder: Reminder, call: str, *, text: str, moment: Moment | None) -> None:
        """Give a reminder another text and, with `moment`, another time; do nothing if this call has done so."""
        values = {"text": clean(text), "call": call, "id": reminder.id}
        timed = ", zone = :zone, rule = :rule, start = :start, at_ms = :at_ms, due_ms = :at_ms" if moment else ""
        async with self._writing():
            await self._execute(
                f"UPDATE reminders SET text = :text, changed_by = :call{timed} WHERE id = :id AND changed_by <> :call",
                {**values, **(columns(moment) if moment else {})},
            )

    async def delete(self, user: str, number: int, call: str) -> bool:
        """Delete a reminder by its number, its text with it; False when there is none and this call deleted none."""
        async with self._writing():
            if await self._select("WHERE user = ? AND number = ? AND changed_by = ?", user, number, f"-{call}"):
                return True
            found = [reminder for reminder in await self._live(user) if reminder.number == number]
            for reminder in found:
                await self._execute(
                    "UPDATE reminders SET text = '', due_ms = NULL, rung_ms = NULL, changed_by = ? WHERE id = ?",
                    (f"-{call}", reminder.id),
                )
            return bool(found)

    async def due(self, until_ms: int, user: str | None, threads: str) -> list[Reminder]:
        """Return what is due until then, the earliest first: of one user or of all, in threads of a GLOB pattern."""
        rest = "WHERE due_ms <= ?1 AND (?2 IS NULL OR user = ?2) AND thread GLOB ?3 ORDER BY due_ms, id"
        async with self._lock:
            return await self._select(rest, until_ms, user, threads)

    async def still_due(self, reminder: Reminder) -> Reminder | None:
        """Return a reminder as it is now; None if its time was changed, it was deleted or has rung meanwhile."""
        async with self._lock:
            found = await self._select("WHERE id = ? AND due_ms = ?", reminder.id, reminder.due_ms)
        return found[0] if found else None

    async def rang(self, reminder: Reminder, following: datetime | None) -> None:
        """Take note that a reminder rang, and when it shall the next time; do nothing if it was changed meanwhile."""
        due = None if following is None else unix_ms(following)
        async with self._writing():
            await self._execute(
                "UPDATE reminders SET due_ms = ?1, at_ms = coalesce(?1, at_ms), rung_ms = ?2"
                " WHERE id = ?3 AND due_ms = ?4",
                (due, self._now_ms(), reminder.id, reminder.due_ms),
            )

    async def erase(self, thread: str, users: set[str]) -> None:
        """Delete the reminders of a thread, and all those of the users."""
        async with self._writing():
            await self._execute("DELETE FROM reminders WHERE thread = ?", (clean(thread),))
            await self._connection.executemany("DELETE FROM reminders WHERE user = ?", [(user,) for user in users])

    @asynccontextmanager
    async def _writing(self) -> AsyncIterator[None]:
        async with self._lock, writing(self._connection):
            for sql in TABLES:
                await self._connection.execute(sql)
            yield
        self.changed.set()

    async def _live(self, user: str) -> list[Reminder]:
        return await self._select(f"WHERE user = ? AND {LIVE} ORDER BY number", user, self._now_ms() - REMEMBERED_MS)

    async def _select(self, rest: str, *values: Any) -> list[Reminder]:
        # Where nobody wants to be reminded there is no table: it takes 20 kB.
        if not await self._connection.execute_fetchall("SELECT 1 FROM sqlite_master WHERE name = 'reminders'"):
            return []
        return [Reminder(*row) for row in await self._connection.execute_fetchall(COLUMNS + rest, values)]

    async def _execute(self, sql: str, values: Any) -> None:
        await self._connection.execute(sql, values)

    def _now_ms(self) -> int:
        return round(self.now() * 1000)
