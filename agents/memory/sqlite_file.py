"""A database in a SQLite file: it is opened, checked, compacted and scrubbed here, and its faults are named."""

import shutil
import sqlite3
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing, suppress
from pathlib import Path
from typing import Literal

from agents.errors import ConfigError, DatabaseError, UnusableDatabase
from agents.memory import Memory, Storage, make_tables, memory_in
from agents.memory.backend import Backend
from agents.memory.checkpointer import KEPT_TURNS, Keep
from agents.memory.connection import PLAIN, TRUNCATE, Connection, Driver, Session, Tables, connect
from agents.memory.digests import Digests, key_beside, secret_file
from agents.memory.locks import ThreadLocks

PREFIX = "sqlite:///"
PLAIN_START = b"SQLite format 3\0"
"""The first bytes of every file that is not encrypted."""
SCHEMA = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY type <> 'table'"
VERSIONS = "SELECT owner, version FROM owners"
CLOSING = f"PRAGMA busy_timeout=1000; {TRUNCATE};"
"""Empties the log at the end. Another process that reads the log empties it, and nobody waits."""
SMALL = 16 * 1024 * 1024
"""The most bytes of a file to write anew at a deletion: others cannot write for a fraction of a second."""
HINTS = {
    ("locked",): "Another program holds it; try again when that has ended.",
    ("full", "I/O"): "See whether the disk is full or damaged.",
    ("malformed", "not a database"): "It is damaged, or no database; restore a copy, or name another file.",
    ("hard link",): "Nothing was changed.",
    ("already exists",): "A version from before 23 November 2026 (83065eb8) made it, and it was left as it was."
    " Name another file; what that version exports as JSON, `python -m app import` takes.",
}


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

    @asynccontextmanager
    async def open(
        self,
        now: Callable[[], float] = time.time,
        *,
        keep: Keep = KEPT_TURNS,
        reads: bool = False,
        tables: Sequence[Tables] = (),
    ) -> AsyncIterator[Memory]:
        """See `Backend`. With `reads`, a file that cannot be written to is copied, and none is made."""
        path, driver = self.path, self.driver
        is_absent = not path.exists() and next(place for place in path.parents if place.exists()).is_dir()
        async with AsyncExitStack() as stack:
            try:
                try:
                    if reads and is_absent:
                        raise FileNotFoundError
                    _prepare(path)
                    memory = await stack.enter_async_context(memory_in(SqliteFile(path, driver), now, keep, tables))
                except (OSError, DatabaseError):
                    if not reads or not (is_absent or path.is_file()):
                        raise
                    copy = SqliteFile(path, driver, _copy(path, stack))
                    memory = await stack.enter_async_context(memory_in(copy, now, keep, tables))
            except (OSError, DatabaseError) as error:
                raise _unusable(path, error) from error
            yield memory

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
            with closing(sqlite3.connect(":memory:")) as nothing:
                return _rehearse(nothing, tables)
        try:
            async with connect(str(path), driver=driver) as connection:
                verdicts = await connection.execute("PRAGMA quick_check(1)")
                if verdicts != [("ok",)]:
                    raise _unusable(path, f"malformed: {verdicts[0][0]}")
                await connection.read(lambda session: _rehearse(session, tables))
        except DatabaseError as fault:
            raise _unusable(path, fault) from fault

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


class SqliteFile(Storage):
    """One SQLite file, with the lock file beside it, or the `copy` that is opened in its place."""

    def __init__(self, path: Path, driver: Driver = PLAIN, copy: Path | None = None) -> None:
        self.path, self.file, self.driver = path, copy or path, driver
        self.locks = ThreadLocks(self.file)
        self._inode: tuple[int, int] | None = None
        """The opened file; another file may later have its name."""

    @asynccontextmanager
    async def connect(self, synchronous: Literal["FULL", "NORMAL"]) -> AsyncIterator[Connection]:
        """See `Storage`."""
        async with connect(str(self.file), synchronous, self.driver) as connection:
            self._inode = _inode(self.file)
            try:
                yield connection
            finally:
                if synchronous == "NORMAL":
                    await connection.read(lambda session: session.executescript(CLOSING) and None)

    def digests(self) -> Digests:
        """See `Storage`."""
        return Digests(key_beside(self.file))

    def check(self) -> None:
        """See `Storage`."""
        if not self.file.exists() or _inode(self.file) != self._inode:
            raise FileNotFoundError(f"{self.path} was deleted or replaced while it was in use; start again")

    async def scrub(self, connection: Connection) -> bool:
        """Empty the log, and write a small file anew; in a large one deleted rows are overwritten where they stood.

        SQLite leaves pieces of rows that it once moved within a page. `compact` takes them out of a large file.
        """
        [(pages,)], [(page_bytes,)] = [await connection.execute(f"PRAGMA page_{name}") for name in ("count", "size")]
        if pages * int(page_bytes) <= SMALL:
            await connection.execute("VACUUM")
        return await connection.truncate()


def database_path(url: str) -> Path:
    """Return the file that a database's address names. Raises ConfigError: the address is of another kind."""
    name = url.removeprefix(PREFIX)
    if name == url or name.strip("/") in ("", ":memory:"):
        # Not the whole address: it may hold a password.
        raise ConfigError(
            f"DATABASE_URL must be {PREFIX}path/to/file.db, found one that begins with {url.partition(':')[0]!r}."
        )
    # A symbolic link is another name of the same file, and log and locks lie beside the file.
    return Path(name).resolve()


def start_of(path: Path) -> bytes:
    """Return the first bytes of a database file; none if the file is new or cannot be read."""
    # The opening of the database reports a file that cannot be read.
    with suppress(OSError), path.open("rb") as file:
        return file.read(len(PLAIN_START))
    return b""


def _prepare(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        raise IsADirectoryError("it is a directory")
    # Earlier versions kept what was typed at the prompt, and no deletion would reach it now.
    path.with_name(f"{path.name}.typed").unlink(missing_ok=True)
    # Nobody else may read what people said; SQLite gives its log the mode of its file.
    path.touch(0o600)
    if path.stat().st_nlink > 1:
        # Each further name would have a log and a lock of its own.
        raise OSError("the file has a second name, a hard link, under which it could be damaged; remove one of them")


def _copy(path: Path, stack: AsyncExitStack) -> Path:
    """Return a copy of the database with its log and key, deleted at the end; only its owner may read it.

    The copy of a database that does not exist is empty.
    """
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    for file in (path, path.with_name(f"{path.name}-wal"), secret_file(path)):
        if file.exists():
            shutil.copyfile(file, folder / file.name)
    if not path.exists():
        (folder / path.name).touch()
    return folder / path.name


def _inode(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino


def _unusable(path: Path, fault: object) -> UnusableDatabase:
    """Return the error that names the fault of a database file and the remedy."""
    default = f"Name a file in a folder that can be written to, as in {PREFIX}var/dialogs.db."
    advice = (hint for signs, hint in HINTS.items() if any(sign in str(fault) for sign in signs))
    return UnusableDatabase(f"DATABASE_URL: cannot use {path} ({fault}). {next(advice, default)}")


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
