"""Connections to the one SQLite file, and transactions on them that leave nothing half done."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal

import aiosqlite

BUSY_MS = 30_000
WAL_PAGES = 64
WAL_BYTES = 256 * 1024

# A log of 64 pages keeps a short thread's files small; SQLite's own 1000 pages are 4 MB.
# secure_delete is on by default in some builds only; without it deleted text stays in free pages.
PRAGMAS = f"""
PRAGMA busy_timeout={BUSY_MS};
PRAGMA journal_mode=WAL;
PRAGMA secure_delete=ON;
PRAGMA journal_size_limit={WAL_BYTES};
PRAGMA wal_autocheckpoint={WAL_PAGES};
"""


@asynccontextmanager
async def connect(
    database: str, *, synchronous: Literal["NORMAL", "FULL"], implicit: bool = False
) -> AsyncIterator[aiosqlite.Connection]:
    """Open `database`; with `implicit` a first write begins a transaction that `commit` ends.

    Raises sqlite3.Error when the file cannot be opened or is no database.
    """
    # At DEBUG aiosqlite logs every statement with its values, which are people's words.
    logging.getLogger("aiosqlite").setLevel(logging.INFO)
    level: Literal["DEFERRED"] | None = "DEFERRED" if implicit else None
    async with aiosqlite.connect(database, timeout=BUSY_MS / 1000, isolation_level=level) as connection:
        await connection.executescript(f"{PRAGMAS} PRAGMA synchronous={synchronous};")
        yield connection


@asynccontextmanager
async def writing(connection: aiosqlite.Connection) -> AsyncIterator[None]:
    """Hold the file's write lock for a block; commit at its end, undo on any error or cancellation.

    A deferred transaction that reads first fails at once, whatever the timeout, when another connection
    has committed meanwhile; an immediate one waits its turn.
    """
    try:
        await connection.execute("BEGIN IMMEDIATE")
        yield
        await connection.commit()
    except BaseException:
        # The connection's thread works in order, so this also undoes a statement still under way.
        await connection.rollback()
        raise


async def truncate(connection: aiosqlite.Connection) -> bool:
    """Move the log into the database file and empty it; say whether nobody was in the way."""
    async with connection.execute("PRAGMA wal_checkpoint(TRUNCATE)") as cursor:
        row = await cursor.fetchone()
    return row is not None and not row[0]
