"""Connections to a database, and transactions that are done completely or not at all.

Statements are written for SQLite, in a form that other databases accept or have translated for them.
Each owner of tables lists the migrations that make its tables, and tables only go forward.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import Any, Literal, Protocol, TypeVar

from agents.errors import ConfigError, DatabaseError

ENGINE = "engine"
"""The owner of the engine's tables; their version is also the file's `user_version`."""
OWNERS = "CREATE TABLE IF NOT EXISTS owners (owner TEXT PRIMARY KEY, version INTEGER NOT NULL) WITHOUT ROWID"
VERSION = "SELECT version FROM owners WHERE owner = ?"
SET_VERSION = "INSERT INTO owners VALUES (?, ?) ON CONFLICT (owner) DO UPDATE SET version = excluded.version"
Row = tuple[Any, ...]
Values = Sequence[object] | Mapping[str, object]


class _Cursor(Protocol):
    """The rows of a statement, as `sqlite3.Cursor` has them."""

    @property
    def rowcount(self) -> int: ...
    def fetchone(self) -> Any: ...
    def fetchall(self) -> list[Any]: ...
    def __iter__(self) -> Iterator[Any]: ...


class Session(Protocol):
    """The part of `sqlite3.Connection` that a piece of work uses; without BEGIN each statement is committed at once."""

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction was begun."""

    def execute(self, sql: str, values: Values = (), /) -> _Cursor:
        """Run a statement with values for `?`, `?1` or `:name`."""

    def executemany(self, sql: str, rows: Iterable[Values], /) -> _Cursor:
        """Run a statement once for each row of values."""

    def executescript(self, script: str, /) -> object:
        """Run several statements without values; a transaction that was begun is committed before."""

    def rollback(self) -> None:
        """Undo the transaction, if there is one."""

    def close(self) -> None:
        """Close the connection."""


@dataclass(frozen=True)
class Tables:
    """The tables of one owner."""

    owner: str
    migrations: Mapping[str, str]
    """SQL scripts by name, in order: the first one makes the tables, each other one brings them to the next version.

    A migration that has been run is never edited; a change is one more migration.
    """


def migrate(tables: Tables, database: Session) -> None:
    """Run the migrations that an owner's tables lack, all of them or none; the caller keeps other processes away.

    Raises:
        ConfigError: the tables were made by a newer version of this program.
    """
    database.execute(OWNERS)
    missing, newest = missing_migrations(tables, database), len(tables.migrations)
    if not missing:
        return
    try:
        # A script commits a transaction that was begun before it.
        database.executescript(";\n".join(["BEGIN IMMEDIATE", *missing]))
        database.execute(SET_VERSION, (tables.owner, newest))
        if tables.owner == ENGINE:
            database.execute(f"PRAGMA user_version = {newest}")
        database.execute("COMMIT")
    except BaseException:
        database.rollback()
        if not database.execute("SELECT 1 FROM owners").fetchone():
            # A file that cannot be used stays as it was.
            database.execute("DROP TABLE owners")
        raise


def missing_migrations(tables: Tables, database: Session) -> Sequence[str]:
    """Return the migrations that an owner's tables lack. Raises ConfigError: a newer program made the tables."""
    (version,) = database.execute(VERSION, (tables.owner,)).fetchone() or (0,)
    newest = len(tables.migrations)
    if version > newest:
        raise ConfigError(
            f"DATABASE_URL: the tables of {tables.owner!r} have version {version}, newer than this program,"
            f" which knows {newest}; update the program or name another file."
        )
    return [*tables.migrations.values()][version:]


T = TypeVar("T")
Work = Callable[[Session], T]

BUSY_MS = 30_000
PAGE_BYTES = 1024
WAL_BYTES = 160 * 1024

# A small log keeps a short thread's files small; SQLite's own has 1000 pages.
# secure_delete is on by default in some builds only; without it deleted text stays in free pages.
PRAGMAS = f"""
PRAGMA busy_timeout={BUSY_MS};
PRAGMA journal_mode=WAL;
PRAGMA secure_delete=ON;
PRAGMA journal_size_limit={WAL_BYTES};
"""
TRUNCATE = "PRAGMA wal_checkpoint(TRUNCATE)"


class Connection:
    """A connection with a thread of its own, which does one piece of work after another.

    A trip to the thread costs more than most statements, so a piece of work is a function that may run several.
    If the caller is cancelled, work that has not begun is left out, and other work is done to its end.
    """

    def __init__(self, database: Session, faults: type[Exception] = sqlite3.Error) -> None:
        self._database, self._faults = database, faults
        self._jobs: SimpleQueue[tuple[asyncio.Future[Any], Work[object]] | None] = SimpleQueue()
        self._thread = Thread(target=self._work_off, name="database")

    @asynccontextmanager
    async def opened(self) -> AsyncIterator["Connection"]:
        """Work until the end of the block, and then close the connection."""
        self._thread.start()
        try:
            yield self
        finally:
            self._jobs.put(None)
            self._thread.join()
            self._database.close()

    async def read(self, work: Work[T]) -> T:
        """Return the result of `work`; it must not write outside of a transaction. Raises DatabaseError."""
        if not self._thread.is_alive():
            raise DatabaseError("the database is closed")
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._jobs.put((future, work))
        return await future

    async def write(self, work: Work[T]) -> T:
        """Do `work` in a transaction, a new one or the open one: all of it or, on any error, nothing."""

        def transaction(database: Session) -> T:
            if database.in_transaction:
                return _checked(work(database))
            # A deferred transaction that reads first fails at once, whatever the timeout, when another connection has
            # committed meanwhile; an immediate one waits for its turn.
            database.execute("BEGIN IMMEDIATE")
            try:
                outcome = _checked(work(database))
                database.execute("COMMIT")
            except BaseException:
                database.rollback()
                raise
            return outcome

        return await self.read(transaction)

    async def execute(self, sql: str, values: Values = ()) -> list[Row]:
        """Run one statement and return its rows; outside of a transaction the statement is its own."""
        return await self.read(lambda database: database.execute(sql, values).fetchall())

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        """Hold the file's write lock for a block; commit at its end, undo on any error or cancellation.

        It takes several trips, so nobody else may use the connection meanwhile.
        """
        try:
            await self.execute("BEGIN IMMEDIATE")
            yield
            # The block may have undone the transaction itself.
            await self.read(lambda database: database.in_transaction and database.execute("COMMIT") and None)
        except BaseException:
            await self.rollback()
            raise

    async def rollback(self) -> None:
        """Undo the transaction that was begun, if there is one."""
        # A second cancellation must not leave the transaction open: work that has not begun would be left out.
        await asyncio.shield(self.read(lambda database: database.rollback()))

    async def truncate(self) -> bool:
        """Move the log into the database file and empty it; tell whether nobody prevented that."""
        return not (await self.execute(TRUNCATE))[0][0]

    def _work_off(self) -> None:
        while job := self._jobs.get():
            future, work = job
            if future.cancelled():
                continue
            outcome, error = None, None
            try:
                outcome = _checked(work(self._database))
            except BaseException as raised:
                error = raised
            if isinstance(error, self._faults):
                fault, error = error, DatabaseError(" ".join(str(error).split()))
                error.__cause__ = fault
            # After the loop was closed nobody waits any more.
            with suppress(RuntimeError):
                future.get_loop().call_soon_threadsafe(_settle, future, outcome, error)


def _checked(outcome: T) -> T:
    # A cursor that is dropped in another thread resets its statement, which this one may be running again by then.
    if hasattr(outcome, "fetchone"):
        raise TypeError("a cursor must not leave its connection's thread")
    return outcome


def _settle(future: asyncio.Future[T], outcome: T, error: BaseException | None) -> None:
    if future.cancelled():
        return
    if error is None:
        future.set_result(outcome)
    else:
        future.set_exception(error)


def opened(database: str, **options: Any) -> Session:
    """Open a SQLite file. The small pages of a new one waste less of a short thread; an older file keeps its own."""
    session: Session = sqlite3.connect(database, **options)
    session.execute(f"PRAGMA page_size={PAGE_BYTES}")
    return session


@dataclass(frozen=True)
class Driver:
    """A function that opens a SQLite file as `sqlite3.connect` does, and the errors that its sessions raise."""

    connect: Callable[..., Session] = opened
    faults: type[Exception] = sqlite3.Error


PLAIN = Driver()


@asynccontextmanager
async def connect(
    database: str, synchronous: Literal["FULL", "NORMAL"] = "FULL", driver: Driver = PLAIN
) -> AsyncIterator[Connection]:
    """Open the SQLite file `database`, and close it at the end. With "NORMAL" a power cut may lose the last commits.

    Raises DatabaseError when the file cannot be opened or is not a database.
    """
    try:
        # No transaction begins by itself; a statement outside of one is committed at once.
        session = driver.connect(database, timeout=BUSY_MS / 1000, isolation_level=None, check_same_thread=False)
    except driver.faults as fault:
        raise DatabaseError(str(fault)) from fault
    async with Connection(session, driver.faults).opened() as connection:
        await connection.read(partial(_prepare, synchronous))
        yield connection


def _prepare(synchronous: str, session: Session) -> None:
    session.executescript(f"{PRAGMAS} PRAGMA synchronous={synchronous};")
    (page_bytes,) = session.execute("PRAGMA page_size").fetchone()
    session.execute(f"PRAGMA wal_autocheckpoint={WAL_BYTES // int(page_bytes)}").fetchall()
