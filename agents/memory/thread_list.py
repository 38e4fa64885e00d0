"""Lists of threads, a page at a time: the thread last written to comes first. A search reads a bounded number."""

import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from agents.memory.connection import Connection, Session
from agents.memory.inbox import lines_of, storable
from agents.memory.transcript import last_lines

MOST_LISTED, MOST_READ, MOST_LINES = 100, 200, 1_000
"""Threads of a page, threads that a search reads for one, and last lines of each that it looks through."""
# Each of these names the last message of a thread; its id is the place of the thread in a list.
NEWEST_OF_ALL = """
SELECT id AS place, thread FROM inbox AS own WHERE id < :before AND NOT EXISTS (
    SELECT 1 FROM inbox WHERE thread = own.thread AND id > own.id) ORDER BY id DESC LIMIT :most
"""
NEWEST_OF_USER = """
SELECT id AS place, thread FROM inbox AS own WHERE user = :user AND id < :before AND NOT EXISTS (
    SELECT 1 FROM inbox WHERE user = :user AND thread = own.thread AND id > own.id) ORDER BY id DESC LIMIT :most
"""
NEWEST_BEGINNING_SO = """
SELECT max(id) AS place, thread FROM inbox WHERE thread >= :first AND thread < :behind
GROUP BY thread HAVING max(id) < :before ORDER BY place DESC LIMIT :most
"""
NEWEST_OF_THREAD = "SELECT max(id) AS place, thread FROM inbox WHERE thread = :thread GROUP BY thread"
THREADS = """
SELECT own.thread, newest.user, (SELECT max(turn) FROM inbox WHERE thread = own.thread),
max(newest.received_ms, coalesce((
    SELECT at_ms FROM transcript WHERE thread = own.thread ORDER BY id DESC LIMIT 1), 0)), coalesce((
    SELECT text FROM transcript WHERE thread = own.thread AND role = 'user' ORDER BY id LIMIT 1), newest.text, ''),
own.place FROM ({}) AS own
JOIN inbox AS newest ON newest.id = (SELECT max(id) FROM inbox WHERE thread = own.thread) ORDER BY own.place DESC
"""
RECENT = f"""
SELECT place, own.thread, received_ms FROM ({NEWEST_OF_USER}) AS own JOIN inbox ON id = place ORDER BY place DESC
"""
FIRST_WORDS = "SELECT text FROM transcript WHERE thread = ? AND role = 'user' AND speaker = ? ORDER BY id LIMIT 3"


@dataclass(frozen=True)
class ThreadInfo:
    """A thread in a list: its last writer, the number of its turns, the time of its last line (Unix ms)."""

    thread: str
    user: str
    turns: int
    active_ms: int
    first: str = ""
    place: int = 0
    """Its place in a list: the threads behind it are those before this place."""


@dataclass(frozen=True)
class ThreadPage:
    """A page of a list of threads; the next page begins before the place `next`; None on the last page."""

    rows: Sequence[ThreadInfo] = ()
    next: int | None = None


@dataclass(frozen=True)
class RecentThread:
    """A thread of a user in a list by pages: its place, the time of its last message (Unix ms), its first words."""

    place: int
    thread: str
    active_ms: int
    words: tuple[str, ...]


IsWanted = Callable[[ThreadInfo], Awaitable[bool]]


class ThreadList:
    """Reads lists of the threads in inbox and transcript."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def page(
        self,
        user: str | None = None,
        prefix: str = "",
        *,
        words: str = "",
        before: int | None = None,
        most: int = MOST_LISTED,
        is_wanted: IsWanted | None = None,
        most_read: int = MOST_READ,
    ) -> ThreadPage:
        """Return a page of `infos`: threads with `words` in name or last lines, as far as `is_wanted` permits.

        A page of a search may have few rows, or none, and a next page.
        """

        async def fits(info: ThreadInfo) -> bool:
            if is_wanted and not await is_wanted(info):
                return False
            return comparable(words) in comparable(info.thread) or await self.has_words(info.thread, words, user)

        read, rows = (most_read if words or is_wanted else most), list[ThreadInfo]()
        infos = await self.infos(user, prefix, before=before, most=read + 1)
        for place, info in enumerate(infos[:read], 1):
            if await fits(info):
                rows.append(info)
            if place < len(infos) and (len(rows) == most or place == read):
                return ThreadPage(rows, info.place)
        return ThreadPage(rows)

    async def infos(
        self, user: str | None = None, prefix: str = "", *, before: int | None = None, most: int | None = None
    ) -> list[ThreadInfo]:
        """List the threads in which a user wrote, those with a prefix, or all: the one last written to first.

        Only those before a place in the list count; `most` bounds their number.
        """
        which, values = NEWEST_OF_ALL, _page(before, most)
        if user is not None:
            which, values = NEWEST_OF_USER, {**values, "user": storable(user)}
        elif prefix:
            behind = f"{prefix[:-1]}{chr(ord(prefix[-1]) + 1)}"
            which, values = NEWEST_BEGINNING_SO, {**values, "first": prefix, "behind": behind}
        return [ThreadInfo(*row) for row in await self._connection.execute(THREADS.format(which), values)]

    async def info(self, thread: str) -> ThreadInfo | None:
        """Return the list entry of one thread; None if nobody wrote there."""
        rows = await self._connection.execute(THREADS.format(NEWEST_OF_THREAD), {"thread": storable(thread)})
        return ThreadInfo(*rows[0]) if rows else None

    async def recent(self, user: str, before: int | None, most: int) -> list[RecentThread]:
        """Return at most `most` threads of a user before a place in the list of all, the one written to last first."""

        def read(database: Session) -> list[RecentThread]:
            rows = database.execute(RECENT, {**_page(before, most), "user": storable(user)}).fetchall()
            texts = (database.execute(FIRST_WORDS, (thread, storable(user))).fetchall() for _, thread, _ in rows)
            return [
                RecentThread(place, thread, at_ms, tuple(text for (text,) in words))
                for (place, thread, at_ms), words in zip(rows, texts, strict=True)
            ]

        return await self._connection.read(read)

    async def has_words(self, thread: str, words: str, user: str | None = None) -> bool:
        """Tell whether the last lines of a thread have some words; with a user only that user's lines count."""
        name = storable(thread)
        lines = await self._connection.read(lambda session: last_lines(session, name, None, limit=MOST_LINES))
        own = lines if user is None else lines_of(user, lines)
        return any(comparable(words) in comparable(line.text) for line in own)


def comparable(text: str) -> str:
    """Return a text in one case and with single spaces."""
    return " ".join(text.casefold().split())


def _page(before: int | None, most: int | None) -> dict[str, object]:
    return {"before": sys.maxsize if before is None else before, "most": sys.maxsize if most is None else most}
