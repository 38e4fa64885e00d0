"""What searches have found lately, so that nothing is asked twice. It keeps no query."""

import hashlib
import json
import sqlite3
from collections.abc import Callable

from agents.memory.connection import Connection, Tables

TABLES = Tables(
    "research",
    [
        """
        CREATE TABLE search_cache (key TEXT PRIMARY KEY, found TEXT NOT NULL, at_ms INTEGER NOT NULL);
        CREATE INDEX search_cache_time ON search_cache (at_ms);
        """
    ],
)
MOST_ROWS = 500
"""Rows that are kept, the newest."""
GET = "SELECT found FROM search_cache WHERE key = ? AND at_ms > ?"
PUT = "INSERT OR REPLACE INTO search_cache (key, found, at_ms) VALUES (?, ?, ?)"
DROP_OLD = """
DELETE FROM search_cache
WHERE at_ms <= ? OR key NOT IN (SELECT key FROM search_cache ORDER BY at_ms DESC LIMIT ?)
"""


class SearchCache:
    """Keeps JSON by what was asked; `now` tells the Unix time in seconds."""

    def __init__(self, database: Connection, now: Callable[[], float]) -> None:
        self._database, self._now = database, now

    async def get(self, asked: tuple[object, ...], seconds: float) -> object | None:
        """Return what was found for this within so many seconds; None if nothing was kept."""
        values = _key(asked), self._ms() - int(seconds * 1000)
        row = await self._database.read(lambda connection: connection.execute(GET, values).fetchone())
        documents: object = json.loads(row[0]) if row else None
        return documents

    async def put(self, asked: tuple[object, ...], documents: object, seconds: float) -> None:
        """Keep what was found for this, and drop what is older than so many seconds."""
        text, now = json.dumps(documents, ensure_ascii=True), self._ms()

        def work(connection: sqlite3.Connection) -> None:
            connection.execute(PUT, (_key(asked), text, now))
            connection.execute(DROP_OLD, (now - int(seconds * 1000), MOST_ROWS))

        await self._database.write(work)

    async def erase(self) -> None:
        """Delete everything."""
        await self._database.write(lambda connection: connection.execute("DELETE FROM search_cache").rowcount)

    def _ms(self) -> int:
        return int(self._now() * 1000)


def _key(asked: tuple[object, ...]) -> str:
    return hashlib.sha256(json.dumps(asked, ensure_ascii=True).encode()).hexdigest()
