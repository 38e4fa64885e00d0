"""The database by its address: a SQLite file, encrypted if there is a key, or a PostgreSQL server."""

import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from agents.errors import ConfigError, DatabaseError, UnusableDatabase
from agents.memory import Memory, database_path, make_tables, open_memory, unusable
from agents.memory.checkpointer import KEPT_TURNS, Keep
from agents.memory.connection import Connection, Session, Tables, connect
from app.process.extras import load_extra
from app.security.encryption import driver_of

POSTGRES = ("postgresql://", "postgres://")
NOT_BY_KEY = "DATABASE_KEY encrypts a file; PostgreSQL is encrypted by its disk or its provider. Take the key away."

SCHEMA = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY type <> 'table'"
VERSIONS = "SELECT owner, version FROM owners"


def open_database(
    url: str,
    now: Callable[[], float] = time.time,
    *,
    keep: Keep = KEPT_TURNS,
    reads: bool = False,
    tables: Sequence[Tables] = (),
    key: SecretStr | None = None,
) -> AbstractAsyncContextManager[Memory]:
    """Open the database at an address; see `open_memory`. With a `key` the file is encrypted.

    Raises:
        ConfigError: the database cannot be used, the key is not its key, or its driver is not installed.
    """
    if is_postgres(url):
        memory: AbstractAsyncContextManager[Memory] = _postgres(key).open_postgres(url, now, keep, tables)
        return memory
    driver = driver_of(database_path(url), key)
    return open_memory(url, now, keep=keep, reads=reads, tables=tables, driver=driver)


@asynccontextmanager
async def connected(url: str, key: SecretStr | None = None) -> AsyncIterator[Connection]:
    """Connect to a database that is there; nothing is made in it.

    Raises:
        ConfigError: it cannot be used, the key is not its key, or its driver is not installed.
    """
    if is_postgres(url):
        opening: AbstractAsyncContextManager[Connection] = _postgres(key).connected(url)
    else:
        path = database_path(url)
        if not path.is_file():
            raise UnusableDatabase(f"DATABASE_URL: there is no file {path}")
        opening = connect(str(path), driver=driver_of(path, key))
    async with opening as connection:
        yield connection


async def check_database(url: str, tables: Sequence[Tables], key: SecretStr | None = None) -> None:
    """Read a database that is there as far as an opening does, and change nothing; a new one is made later.

    Raises:
        ConfigError: it cannot be used, is damaged, or another version of this program has made its tables.
    """
    if is_postgres(url):
        await _postgres(key).check(url, tables)
        return
    path = database_path(url)
    if not path.is_file() or not path.stat().st_size:
        return
    try:
        async with connected(url, key) as connection:
            verdicts = await connection.execute("PRAGMA quick_check(1)")
            if verdicts != [("ok",)]:
                raise unusable(path, f"malformed: {verdicts[0][0]}")
            await connection.read(lambda session: _rehearse(session, tables))
    except DatabaseError as fault:
        raise unusable(path, fault) from fault


def _rehearse(session: Session, tables: Sequence[Tables]) -> None:
    """Make the missing tables beside a copy of those that are there, in memory, as an opening would in the file."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as copy:
        try:
            for (sql,) in session.execute(SCHEMA).fetchall():
                copy.execute(sql)
                if sql.startswith("CREATE TABLE owners"):
                    copy.executemany("INSERT INTO owners VALUES (?, ?)", session.execute(VERSIONS).fetchall())
            make_tables(copy, tables)
        except sqlite3.Error as fault:
            raise DatabaseError(str(fault)) from fault


def is_postgres(url: str) -> bool:
    """Tell whether an address is of PostgreSQL."""
    return url.startswith(POSTGRES)


def files_of(url: str) -> Path:
    """Return the path beside which the other files of a database lie.

    Raises:
        ConfigError: the address is of no kind that is known, or the driver of its kind is not installed.
    """
    if is_postgres(url):
        path: Path = _postgres().files_beside(url)
        return path
    return database_path(url)


def _postgres(key: SecretStr | None = None) -> Any:
    if key:
        raise ConfigError(NOT_BY_KEY)
    return load_extra("app.postgres.storage", "postgres", "DATABASE_URL: PostgreSQL")
