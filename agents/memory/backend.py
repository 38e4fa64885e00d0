"""Backends: each opens the databases of one kind of address; a plug-in may bring a kind (`Plugin.storage`)."""

import sqlite3
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing, suppress
from pathlib import Path

from agents.errors import DatabaseError, UnusableDatabase
from agents.memory import Memory, database_path, make_tables, open_memory, unusable
from agents.memory.checkpointer import KEPT_TURNS, Keep
from agents.memory.connection import PLAIN, Connection, Driver, Session, Tables, connect

SCHEMA = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY type <> 'table'"
VERSIONS = "SELECT owner, version FROM owners"
PLAIN_START = b"SQLite format 3\0"
"""The first bytes of every file that is not encrypted."""


def start_of(path: Path) -> bytes:
    """Return the first bytes of a database file; none if the file is new or cannot be read."""
    # The opening of the database reports a file that cannot be read.
    with suppress(OSError), path.open("rb") as file:
        return file.read(len(PLAIN_START))
    return b""


class Backend(ABC):
    """Opens the database at one address. Each method raises ConfigError if the address cannot be used."""

    def __init__(self, url: str) -> None:
        self.url = url

    @property
    @abstractmethod
    def path(self) -> Path:
        """The database file, or a path in its place; the index of documents and the prompt's history lie beside it."""

    @abstractmethod
    def open(
        self,
        now: Callable[[], float] = time.time,
        *,
        keep: Keep = KEPT_TURNS,
        reads: bool = False,
        tables: Sequence[Tables] = (),
    ) -> AbstractAsyncContextManager[Memory]:
        """Open the database and make its missing tables; see `open_memory`."""

    @abstractmethod
    def connect(self) -> AbstractAsyncContextManager[Connection]:
        """Connect to an existing database, and make nothing in it."""

    @abstractmethod
    async def check(self, tables: Sequence[Tables]) -> None:
        """Check that an existing database can be opened, and change nothing; a new one is made later."""

    @abstractmethod
    async def compact(self) -> tuple[int, int]:
        """Write the database anew, without remains of deleted rows; return its bytes before and after."""

    @abstractmethod
    async def owners_left(self, connection: Connection) -> Collection[str]:
        """Return the owners of tables that a copy leaves out. Raises UsageError: rows in them are needed."""

    @abstractmethod
    async def filled(self, connection: Connection, table: str, column: str) -> None:
        """Note that rows were copied into a table, with the numbers that its database gives to new rows."""


class SqliteBackend(Backend):
    """Opens a SQLite file."""

    @property
    def path(self) -> Path:
        """See `Backend`."""
        return database_path(self.url)

    @property
    def driver(self) -> Driver:
        """The driver that opens the file."""
        return PLAIN

    def open(
        self,
        now: Callable[[], float] = time.time,
        *,
        keep: Keep = KEPT_TURNS,
        reads: bool = False,
        tables: Sequence[Tables] = (),
    ) -> AbstractAsyncContextManager[Memory]:
        """See `Backend`."""
        return open_memory(self.url, now, keep=keep, reads=reads, tables=tables, driver=self.driver)

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Connection]:
        """See `Backend`."""
        if not self.path.is_file():
            raise UnusableDatabase(f"DATABASE_URL: there is no file {self.path}")
        async with connect(str(self.path), driver=self.driver) as connection:
            yield connection

    async def check(self, tables: Sequence[Tables]) -> None:
        """See `Backend`."""
        # A new file needs a driver, too.
        path, driver = self.path, self.driver
        if not path.is_file() or not path.stat().st_size:
            return
        try:
            async with connect(str(path), driver=driver) as connection:
                verdicts = await connection.execute("PRAGMA quick_check(1)")
                if verdicts != [("ok",)]:
                    raise unusable(path, f"malformed: {verdicts[0][0]}")
                await connection.read(lambda session: _rehearse(session, tables))
        except DatabaseError as fault:
            raise unusable(path, fault) from fault

    async def compact(self) -> tuple[int, int]:
        """See `Backend`."""
        async with self.connect() as connection:
            [(before,)] = await connection.execute("PRAGMA page_count")
            await connection.execute("VACUUM")
            await connection.truncate()
            [(after,)] = await connection.execute("PRAGMA page_count")
            [(size,)] = await connection.execute("PRAGMA page_size")
        # SQLCipher tells it as a text.
        return before * int(size), after * int(size)

    async def owners_left(self, connection: Connection) -> Collection[str]:
        """See `Backend`: everything is copied."""
        return ()

    async def filled(self, connection: Connection, table: str, column: str) -> None:
        """See `Backend`: SQLite looks for the largest number itself."""


def _rehearse(session: Session, tables: Sequence[Tables]) -> None:
    """Copy the tables into memory and make the missing ones there, as an opening would in the file."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as copy:
        try:
            for (sql,) in session.execute(SCHEMA).fetchall():
                copy.execute(sql)
                if sql.startswith("CREATE TABLE owners"):
                    copy.executemany("INSERT INTO owners VALUES (?, ?)", session.execute(VERSIONS).fetchall())
            make_tables(copy, tables)
        except sqlite3.Error as fault:
            raise DatabaseError(str(fault)) from fault
