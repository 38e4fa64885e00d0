"""The long-term store: LangGraph's own for SQLite, whose transactions do not fail on each other."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Self

import aiosqlite
from langgraph.store.base import Item, PutOp, SearchItem, TTLConfig
from langgraph.store.sqlite.aio import AsyncSqliteStore
from langgraph.store.sqlite.base import SqliteIndexConfig

from agents.memory.connection import Connection, Row, connect, writing

PAGE = 1000
ITEM = "SELECT value, created_at, updated_at FROM store WHERE prefix = ? AND key = ?"
ITEMS = """
SELECT prefix, key, value, created_at, updated_at FROM store
WHERE prefix = ?1 OR (prefix > ?1 || '.' AND prefix < ?1 || '/') ORDER BY updated_at DESC LIMIT ?2 OFFSET ?3
"""
"""The items in a namespace and below it; "/" is the character that follows the full stop."""


def namespace_of(user: str, *kind: str) -> tuple[str, ...]:
    """Return where the items of `user` are: ("users", user, …), with the full stops the store forbids as %2E."""
    return "users", user.replace("%", "%25").replace(".", "%2E") or "%", *kind


class Store(AsyncSqliteStore):
    """Keep long-term items in SQLite."""

    conn: Connection

    @classmethod
    @asynccontextmanager
    async def from_conn_string(
        cls, conn_string: str, *, index: SqliteIndexConfig | None = None, ttl: TTLConfig | None = None
    ) -> AsyncIterator[Self]:
        """Open the database file at `conn_string` with its settings; close it at the end."""
        async with connect(conn_string, synchronous="NORMAL") as connection:
            store = cls(connection, index=index, ttl=ttl)
            try:
                yield store
            finally:
                await store._end_worker()

    async def setup(self) -> None:
        """Create the tables, all of them or none."""
        async with self.lock:
            if not self.is_setup:
                await self._create()
        await super().setup()

    async def aget(self, namespace: tuple[str, ...], key: str, *, refresh_ttl: bool | None = None) -> Item | None:
        """Return an item, in one trip to the database: every turn asks for some."""
        if self.ttl_config:
            return await super().aget(namespace, key, refresh_ttl=refresh_ttl)

        for value, created, updated in await self._rows(ITEM, ".".join(namespace), key):
            return Item(value=json.loads(value), key=key, namespace=namespace, created_at=created, updated_at=updated)
        return None

    async def asearch(
        self,
        namespace_prefix: tuple[str, ...],
        /,
        *,
        query: str | None = None,
        filter: dict[str, Any] | None = None,
        limit: int = 10,
        offset: int = 0,
        refresh_ttl: bool | None = None,
    ) -> list[SearchItem]:
        """Return the items in a namespace and below it; without conditions, in one trip to the database."""
        if query or filter or self.ttl_config or not namespace_prefix:
            return await super().asearch(
                namespace_prefix, query=query, filter=filter, limit=limit, offset=offset, refresh_ttl=refresh_ttl
            )
        rows = await self._rows(ITEMS, ".".join(namespace_prefix), limit, offset)
        return [SearchItem(tuple(row[0].split(".")), row[1], json.loads(row[2]), row[3], row[4]) for row in rows]

    async def erase(self, namespace: tuple[str, ...]) -> int:
        """Delete every item in `namespace` and below it; return how many."""
        count = 0
        while items := await self.asearch(namespace, limit=PAGE):
            await self.abatch([PutOp(item.namespace, item.key, None) for item in items])
            count += len(items)
        return count

    async def _rows(self, sql: str, *values: str | int) -> list[Row]:
        # A reader must not see a batch that is written in part.
        async with self.lock:
            return await self.conn.read(lambda connection: connection.execute(sql, values).fetchall())

    async def _end_worker(self) -> None:
        # LangGraph leaves its worker to the garbage collector, which complains of it to whoever runs then.
        if self._task:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _create(self) -> None:
        # The stock set-up, killed between a migration and the note of it, fails at every later start.
        async with writing(self.conn):
            table = "SELECT 1 FROM sqlite_master WHERE name = 'store_migrations'"
            if list(await self.conn.execute_fetchall(table)):
                return
            await self.conn.execute("CREATE TABLE store_migrations (v INTEGER PRIMARY KEY)")
            for version, sql in enumerate(self.MIGRATIONS):
                await self.conn.execute(sql)
                await self.conn.execute("INSERT INTO store_migrations (v) VALUES (?)", (version,))

    @asynccontextmanager
    async def _cursor(self, *, transaction: bool = True) -> AsyncIterator[aiosqlite.Cursor]:
        # The stock one begins deferred, which fails when a batch reads before it writes, and commits
        # half a batch on an error.
        await self.setup()
        async with self.lock, self.conn.cursor() as cursor:
            if not transaction:
                yield cursor
                return
            async with writing(self.conn):
                yield cursor
