"""Connections to the SQLite file, and transactions that are done completely or not at all."""

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Generic, Literal, TypeVar

import aiosqlite

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]
Row = tuple[Any, ...]

BUSY_MS = 30_000
ROWS = 64
"""Rows that aiosqlite fetches at a time."""
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


def _checked(work: Work[T], connection: sqlite3.Connection) -> T:
    outcome = work(connection)
    # A cursor that is dropped in another thread resets its statement, which this one may be running again by then.
    if isinstance(outcome, sqlite3.Cursor):
        raise TypeError("a cursor must not leave its connection's thread")
    return outcome


class _Transaction(Generic[T]):
    """A transaction in the connection's thread; it is undone when nobody waits for it any more."""

    def __init__(self, connection: sqlite3.Connection, work: Work[T]) -> None:
        self.connection, self.work = connection, work
        self.is_dropped = False

    def __call__(self) -> T | None:
        if self.is_dropped:
            return None
        try:
            # Immediate: see `writing`.
            self.connection.execute("BEGIN IMMEDIATE")
            outcome = _checked(self.work, self.connection)
            if self.is_dropped:
                self.connection.rollback()
            else:
                self.connection.commit()
        except BaseException:
            self.connection.rollback()
            raise
        return outcome


class Connection(aiosqlite.Connection):
    """A connection that runs several statements in one trip to its thread: a trip costs more than most statements."""

    async def read(self, work: Work[T]) -> T:
        """Return what `work` returns; it must not write."""
        outcome: T = await self._execute(_checked, work, self._conn)  # type: ignore[no-untyped-call]
        return outcome

    async def inside(self, work: Work[T]) -> T:
        """Do `work` in the transaction that the caller has begun, and return what it returns."""
        return await self.read(work)

    async def write(self, work: Work[T]) -> T:
        """Do `work` in a transaction: all of it or, on any error or cancellation, nothing.

        Several trips that belong together need a lock; this is one trip.
        """
        transaction = _Transaction(self._conn, work)
        try:
            outcome: T = await self._execute(transaction)  # type: ignore[no-untyped-call]
        except asyncio.CancelledError:
            transaction.is_dropped = True
            # The thread works in order: what was under way is over when it comes back from here.
            await self._execute(int)  # type: ignore[no-untyped-call]
            raise
        return outcome


@asynccontextmanager
async def connect(
    database: str, *, synchronous: Literal["NORMAL", "FULL"], implicit: bool = False
) -> AsyncIterator[Connection]:
    """Open `database`; with `implicit` a first write begins a transaction that `commit` ends.

    Raises sqlite3.Error when the file cannot be opened or is no database.
    """
    # At DEBUG aiosqlite logs every statement with its values, which are people's words.
    logging.getLogger("aiosqlite").setLevel(logging.INFO)
    level: Literal["DEFERRED"] | None = "DEFERRED" if implicit else None
    opening = partial(sqlite3.connect, database, timeout=BUSY_MS / 1000, isolation_level=level)
    connection = Connection(opening, ROWS)
    async with connection:
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
