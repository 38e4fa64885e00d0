"""What searches found lately, so that nothing is asked twice; it holds no query, and goes with any `forget`."""

import hashlib
import json
import sqlite3
from collections.abc import Callable

from agents.memory.connection import Connection

TABLES = """
CREATE TABLE search_cache (key TEXT PRIMARY KEY, found TEXT NOT NULL, at_ms INTEGER NOT NULL);
CREATE INDEX search_cache_time ON search_cache (at_ms);
"""
MOST_ROWS = 500
"""Rows that are kept, the newest."""
GET = "SELECT found FROM search_cache WHERE key = ? AND at_ms > ?"
PUT = "INSERT OR REPLACE INTO search_cache (key, found, at_ms) VALUES (?, ?, ?)"
OLD = """
DELETE FROM search_cache
WHERE at_ms <= ? OR key NOT IN (SELECT key FROM search_cache ORDER BY at_ms DESC LIMIT ?)
"""


class SearchCache:
    """Keeps JSON by what was asked; `now` tells the Unix time in seconds."""

    def __init__(self, connection: Connection, now: Callable[[], float]) -> None:
        self._connection, self._now = connection, now

    async def get(self, asked: tuple[object, ...], seconds: float) -> object | None:
        """Return what was found for this within so many seconds; None if nothing was kept."""
        rows = await self._connection.execute(GET, (_key(asked), self._ms() - int(seconds * 1000)))
        documents: object = json.loads(rows[0][0]) if rows else None
        return documents

    async def put(self, asked: tuple[object, ...], found: object, seconds: float) -> None:
        """Keep what was found for this, and drop what is older than so many seconds."""
        text = json.dumps(found, ensure_ascii=True)

        def work(connection: sqlite3.Connection) -> None:
            connection.execute(PUT, (_key(asked), text, self._ms()))
            connection.execute(OLD, (self._ms() - int(seconds * 1000), MOST_ROWS))

        await self._connection.write(work)

    async def erase(self) -> None:
        """Delete everything."""
        await self._connection.execute("DELETE FROM search_cache")

    def _ms(self) -> int:
        return int(self._now() * 1000)


def _key(asked: tuple[object, ...]) -> str:
    return hashlib.sha256(json.dumps(asked, ensure_ascii=True).encode()).hexdigest()
