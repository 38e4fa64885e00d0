"""Notices for users at a later time: the engine's own, and the interface between the clock and each source."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from agents.language.schedule.wording import worded_instant
from agents.memory.connection import Connection
from agents.memory.inbox import storable
from agents.memory.preferences import machine_zone
from prompts import phrase

TABLES = """
CREATE TABLE notices (
    user TEXT NOT NULL, key TEXT NOT NULL, thread TEXT NOT NULL, text TEXT NOT NULL, lang TEXT NOT NULL,
    at_ms INTEGER NOT NULL, told_ms INTEGER, PRIMARY KEY (user, key)) WITHOUT ROWID;
CREATE INDEX notices_due ON notices (at_ms) WHERE told_ms IS NULL;
"""
ADD = """
INSERT INTO notices (user, key, thread, text, lang, at_ms)
VALUES (:user, :key, :thread, :text, :lang, :at_ms) ON CONFLICT DO NOTHING
"""
DUE = """
SELECT user, key, thread, at_ms FROM notices
WHERE told_ms IS NULL AND at_ms <= :until_ms AND (:user IS NULL OR user = :user) AND glob(:threads, thread)
ORDER BY at_ms, key
"""
STILL_DUE = "SELECT text, lang FROM notices WHERE user = ? AND key = ? AND told_ms IS NULL"
PRUNE = "DELETE FROM notices WHERE told_ms BETWEEN 0 AND ?"
"""With two bounds PostgreSQL expects few rows, and takes the index."""
KEPT_MS = 366 * 24 * 3600 * 1000
"""The time for which the key of a told notice is kept."""
TOLD = "UPDATE notices SET told_ms = ?, text = '' WHERE user = ? AND key = ?"


@dataclass(frozen=True)
class Due:
    """A notice that a user is to be told."""

    id: str
    """The same for each delivery of the same notice, so that a door recognises a repeated one."""
    key: str
    """The key of the notice in its source."""
    user: str
    thread: str
    at_ms: int
    """The time to tell it, in Unix milliseconds."""


class NoticeSource(ABC):
    """A source of notices; the clock rings each of them once."""

    is_silent = False
    """Whether it tells nobody anything, and only acts at a time: the clock asks it in every place."""
    is_stored = False
    """Whether a notice is in the transcript, under its id, before it is delivered."""

    def __init__(self, now: Callable[[], float]) -> None:
        self.now = now
        """Returns the present time in Unix seconds."""
        self.changed = asyncio.Event()
        """Set whenever another notice may have become due."""

    def now_ms(self) -> int:
        """Return the present time in Unix milliseconds."""
        return round(self.now() * 1000)

    @abstractmethod
    async def due(self, until_ms: int, user: str | None, threads: str) -> Sequence[Due]:
        """Return the notices due until then, earliest first: of one user or of all, in threads of a GLOB pattern."""

    @abstractmethod
    async def text_of(self, due: Due, *, is_late: bool) -> str | None:
        """Return the text for the user; None if the notice was told, changed or deleted in the meantime."""

    async def is_foreign(self, id: str) -> bool:
        """Tell whether others may have written the notice of this id, if it is one of this source."""
        return False

    @abstractmethod
    async def rang(self, due: Due) -> None:
        """Take note that the user was told."""


class Notices(NoticeSource):
    """Keep notices in SQLite; a write survives a power cut once its method has returned."""

    def __init__(self, connection: Connection, now: Callable[[], float]) -> None:
        super().__init__(now)
        self._connection = connection

    async def add(self, user: str, thread: str, key: str, *, text: str, lang: str, at_ms: int | None = None) -> None:
        """Add a notice, due now or at a time; once for each key of a user, whether or not it was told already."""
        values = {"user": user, "key": storable(key), "thread": storable(thread), "text": storable(text), "lang": lang}
        due_ms = self.now_ms() if at_ms is None else at_ms
        await self._connection.execute(ADD, {**values, "at_ms": due_ms})
        self.changed.set()

    async def due(self, until_ms: int, user: str | None, threads: str) -> Sequence[Due]:
        """Return the notices that are due until then and were not told."""
        rows = await self._connection.execute(DUE, {"until_ms": until_ms, "user": user, "threads": threads})
        return [Due(f"notice-{owner}-{key}", key, owner, thread, at_ms) for owner, key, thread, at_ms in rows]

    async def text_of(self, due: Due, *, is_late: bool) -> str | None:
        """Return the text of a notice; None if it was told or deleted meanwhile."""
        rows = await self._connection.execute(STILL_DUE, (due.user, due.key))
        if not rows:
            return None
        text, lang = rows[0]
        at = datetime.fromtimestamp(due.at_ms / 1000, machine_zone())
        return rung(text, lang, at, datetime.fromtimestamp(self.now(), UTC), is_late=is_late)

    async def rang(self, due: Due) -> None:
        """Note that a notice was told, and drop its text. Forget notices that were told long ago."""
        await self._connection.execute(PRUNE, (self.now_ms() - KEPT_MS,))
        await self._connection.execute(TOLD, (self.now_ms(), due.user, due.key))

    async def erase(self, thread: str, users: Collection[str]) -> None:
        """Delete the notices of a thread, and all those of the users."""
        await self._connection.execute("DELETE FROM notices WHERE thread = ?", (storable(thread),))
        for user in users:
            await self._connection.execute("DELETE FROM notices WHERE user = ?", (user,))
        self.changed.set()


def rung(text: str, lang: str, at: datetime, now: datetime, *, is_late: bool) -> str:
    """Return a notice's text as the user hears it; a late one says so."""
    if is_late:
        return phrase("notice_missed", lang, text=text, when=worded_instant(at, lang, now))
    return phrase("notice", lang, text=text)
