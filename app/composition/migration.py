"""Copies an installation from one database to another: table by table, resumable, and counted at the end."""

import sqlite3
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass
from functools import partial

from agents.errors import ConfigError, UsageError
from agents.memory import TABLES, Memory
from agents.memory.backend import Backend
from agents.memory.checkpointer import TABLES as CHECKPOINTS
from agents.memory.connection import Connection, Row, Session, Tables, migrate
from agents.memory.digests import KEYED, key_beside
from agents.memory.sqlite_file import SqliteBackend
from app.composition import plugins_found, tables_of

AT_ONCE = 200
"""The number of rows that one transaction copies."""
BEGUN = "unfinished migration"
"""An owner without tables, as a mark in the database until the copy is whole."""
VERSIONS = "SELECT owner, version FROM owners"
Tell = Callable[[int, int, str], None]
"""Gets the number of copied rows, the number of all rows, and the present table."""


@dataclass(frozen=True)
class CopiedTable:
    """A table: its columns, its key, and whether the database gives each new row a number."""

    name: str
    columns: Sequence[str]
    key: Sequence[str]
    is_numbered: bool

    @property
    def place(self) -> str:
        """The statement for the key of the last row."""
        descending = ", ".join(f"{column} DESC" for column in self.key)
        return f"SELECT {', '.join(self.key)} FROM {self.name} ORDER BY {descending} LIMIT 1"

    def rows(self, *, from_start: bool) -> str:
        """Return the statement for the next rows behind a key; without a key of the table for all of them."""
        sql = f"SELECT {', '.join(self.columns)} FROM {self.name}"
        if not self.key:
            return sql
        key, marks = ", ".join(self.key), ", ".join("?" * len(self.key))
        behind = "" if from_start else f" WHERE ({key}) > ({marks})"
        return f"{sql}{behind} ORDER BY {key} LIMIT {AT_ONCE}"

    def add(self, rows: Sequence[Row], session: Session) -> None:
        """Write rows; in a table without a key, in place of all its rows."""
        if not self.key:
            session.execute(f"DELETE FROM {self.name}")
        marks = ", ".join("?" * len(self.columns))
        session.executemany(f"INSERT INTO {self.name} ({', '.join(self.columns)}) VALUES ({marks})", rows)


async def copy(source: Backend, target: Backend, tell: Tell) -> Mapping[str, int]:
    """Copy all rows of one database to another, and continue a former copy that was cut off.

    The source is only read. Nothing else may use either database meanwhile. Returns the number of rows by table.

    Raises:
        UsageError: both are the same, the source is of another version of this program or holds tables that it does
            not know, the target holds conversations of its own, or something was changed during the copy.
        ConfigError: one of them cannot be used.
    """
    if source.url == target.url:
        raise UsageError("--to names the database that DATABASE_URL names; name another one.")
    added = tables_of(plugins_found())
    async with source.connect() as old, _opened(target, source, added) as memory, memory.locks.hold("\0migration"):
        new, left = memory.database, await source.owners_left(old)
        tables = described(await _owners_there(old, [CHECKPOINTS, *TABLES, KEYED, *added], left))
        await _begin(new, tables)
        counts = {table.name: await _count(old, table) for table in tables}
        done, total = 0, sum(counts.values())
        for table in tables:
            async for copied in _copied(table, old, new):
                done += copied
                tell(done, total, table.name)
            if table.is_numbered:
                await target.filled(new, table.name, table.key[0])
        differing = [table.name for table in tables if await _count(new, table) != await _count(old, table)]
        if differing:
            raise UsageError(f"Something writes to {', '.join(differing)}; stop it and run this again.")
        await new.execute("DELETE FROM owners WHERE owner = ?", (BEGUN,))
    return counts


@asynccontextmanager
async def _opened(target: Backend, source: Backend, added: Sequence[Tables]) -> AsyncIterator[Memory]:
    """Open the target, with the source's key of digests; a fault of its address names the option."""
    async with AsyncExitStack() as stack:
        try:
            if isinstance(source, SqliteBackend) and isinstance(target, SqliteBackend):
                key_beside(target.path, key_beside(source.path))
            memory = await stack.enter_async_context(target.open(tables=added))
        except ConfigError as wrong:
            raise type(wrong)(str(wrong).replace("DATABASE_URL", "--to", 1)) from wrong
        yield memory


async def _owners_there(old: Connection, owners: Sequence[Tables], left: Collection[str]) -> list[Tables]:
    """Return the owners of the source's tables, except the `left` ones. Raises UsageError: a version differs."""
    tables_by_owner = {tables.owner: tables for tables in owners}
    rows: list[tuple[str, int]] = await old.execute(VERSIONS)
    versions = {owner: version for owner, version in rows if owner not in (BEGUN, *left)}
    if strangers := sorted(versions.keys() - tables_by_owner.keys()):
        raise UsageError(f"The database holds tables of {', '.join(strangers)}, which this program does not have.")
    behind = sorted(owner for owner, version in versions.items() if version != len(tables_by_owner[owner].migrations))
    if behind:
        raise UsageError(
            f"The tables of {', '.join(behind)} are of an older version; open it once with `python -m app threads`."
        )
    return [tables_by_owner[owner] for owner in versions]


def described(owners: Sequence[Tables]) -> list[CopiedTable]:
    """Return the tables of these owners, from the schema of an empty SQLite database."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as empty:
        for owner in owners:
            migrate(owner, empty)
        names = empty.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
        return [_described_table(name, empty) for (name,) in names.fetchall() if name != "owners"]


def _described_table(name: str, empty: sqlite3.Connection) -> CopiedTable:
    columns = empty.execute("SELECT name, type, pk FROM pragma_table_info(?)", (name,)).fetchall()
    key = [(column, kind) for column, kind, place in sorted(columns, key=lambda row: row[2]) if place]
    is_numbered = len(key) == 1 and key[0][1] == "INTEGER"
    return CopiedTable(name, [column for column, *_ in columns], [column for column, _ in key], is_numbered)


async def _begin(new: Connection, tables: Sequence[CopiedTable]) -> None:
    """Mark the target as begun. Raises UsageError if it holds rows that no copy has brought."""

    def begin(session: Session) -> bool:
        if session.execute("SELECT 1 FROM owners WHERE owner = ?", (BEGUN,)).fetchone():
            return True
        if any(session.execute(f"SELECT 1 FROM {table.name} LIMIT 1").fetchone() for table in tables):
            return False
        session.execute("INSERT INTO owners VALUES (?, 0)", (BEGUN,))
        return True

    if not await new.write(begin):
        raise UsageError("The database that --to names holds conversations already; name an empty one.")


async def _copied(table: CopiedTable, old: Connection, new: Connection) -> AsyncIterator[int]:
    """Copy the rows that the target lacks; yield the number of rows it has, and then the number of each batch."""
    place: Sequence[Row] = []
    if table.key:
        place = await new.execute(table.place)
        yield await _count(new, table)
    while rows := await old.execute(table.rows(from_start=not place), place[0] if place else ()):
        await new.write(partial(table.add, rows))
        yield len(rows)
        if not table.key:
            break
        place = [tuple(rows[-1][table.columns.index(column)] for column in table.key)]


async def _count(connection: Connection, table: CopiedTable) -> int:
    [(count,)] = await connection.execute(f"SELECT count(*) FROM {table.name}")
    return int(count)
