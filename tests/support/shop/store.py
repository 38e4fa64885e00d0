"""A shop's records in SQLite: users, orders and products, each a JSON object under its identifier.

They stand in the file of the threads, so that a write commits together with the answer of the tool that makes it.
"""

import hashlib
import json
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, closing
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Literal

import aiosqlite

from agents.memory.connection import connect
from agents.toolkit.result import Refused
from agents.toolkit.runtime import Runtime

Record = dict[str, Any]
Kind = Literal["users", "orders", "products"]
ADVICE: Mapping[Kind, str] = {
    "users": "Look the user up by email, or by name and zip code.",
    "orders": "The orders of a user stand in their details; ask the user which one is meant.",
    "products": "This must be a product, not an item; the list of products has all of them.",
}
TABLES = """
CREATE TABLE shop (kind TEXT, id TEXT, body TEXT NOT NULL, PRIMARY KEY (kind, id));
CREATE TABLE shop_writes (about TEXT NOT NULL);
"""
FILE: ContextVar[Path] = ContextVar("file")
"""The database of the shop that the tools of this task serve."""


class Shop:
    """The shop as a tool sees it, by one connection."""

    def __init__(self, connection: aiosqlite.Connection) -> None:
        self._connection = connection

    async def get(self, kind: Kind, id: str) -> Record:
        """Return a record.

        Raises:
            Refused: there is none.
        """
        records = await self.select(kind, "id = ?", id)
        if not records:
            raise Refused(f"There is no such record among the {kind}. {ADVICE[kind]}")
        return records[0]

    async def select(self, kind: Kind, condition: str = "TRUE", *values: str) -> list[Record]:
        """Return the records for which an SQL condition holds."""
        query = f"SELECT body FROM shop WHERE kind = ? AND {condition} ORDER BY rowid"
        return [json.loads(body) for (body,) in await self._connection.execute_fetchall(query, (kind, *values))]

    async def put(self, kind: Kind, record: Record) -> None:
        """Write a record over the former one."""
        body = json.dumps(record, ensure_ascii=False)
        id = record[f"{kind.removesuffix('s')}_id"]
        await self._connection.execute("UPDATE shop SET body = ? WHERE kind = ? AND id = ?", (body, kind, id))

    async def enter(self, about: str) -> None:
        """Enter that a tool has written about an order or a user."""
        await self._connection.execute("INSERT INTO shop_writes VALUES (?)", (about,))


@asynccontextmanager
async def reading() -> AsyncIterator[Shop]:
    """Open the shop for a tool that only reads."""
    async with connect(str(FILE.get()), synchronous="NORMAL") as connection:
        yield Shop(connection)


@asynccontextmanager
async def writing(runtime: Runtime, about: str) -> AsyncIterator[Shop]:
    """Open the shop for a tool that writes about an order or a user: all of it or, if it raises, nothing."""
    assert runtime.context.ledger is not None
    async with runtime.context.ledger.transaction() as connection:
        shop = Shop(connection)
        yield shop
        await shop.enter(about)


def fill(file: Path, records: Mapping[Kind, Mapping[str, Record]]) -> None:
    """Make a new database with these records."""
    rows = [
        (kind, id, json.dumps(record, ensure_ascii=False))
        for kind, by_id in records.items()
        for id, record in by_id.items()
    ]
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.executescript(TABLES)
        connection.executemany("INSERT INTO shop VALUES (?, ?, ?)", rows)


def digest(file: Path, changes: Mapping[str, Callable[[Record], Record]]) -> str:
    """Return the SHA-256 of all records, some of them changed, as JSON.

    Keys are sorted, those of nulls left out; there are no blanks, and nothing is escaped.
    """
    records: dict[str, Record] = {}
    with closing(sqlite3.connect(file)) as connection:
        for kind, id, body in connection.execute("SELECT kind, id, body FROM shop"):
            record = json.loads(body)
            records.setdefault(kind, {})[id] = changes[id](record) if id in changes else record
    text = json.dumps(without_nulls(records), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def writes(file: Path) -> list[str]:
    """Return which orders and users were written about, in order, each as often as it was."""
    with closing(sqlite3.connect(file)) as connection:
        return [about for (about,) in connection.execute("SELECT about FROM shop_writes ORDER BY rowid")]


def without_nulls(data: Any) -> Any:
    """Return data without the keys whose value is null."""
    if isinstance(data, Mapping):
        return {name: without_nulls(value) for name, value in data.items() if value is not None}
    return [without_nulls(value) for value in data] if isinstance(data, list) else data
