"""Tables that few people need: the first write creates them, since an empty table takes 20 kB."""

import sqlite3
from collections.abc import Mapping, Sequence

from agents.memory.connection import Connection, Row, T, Work

Values = Sequence[object] | dict[str, object]


class RareTable:
    """A table with its indexes; `statements` create what does not exist yet.

    `grows` has for each column that tables of before lack the statements that add it.
    """

    def __init__(
        self,
        connection: Connection,
        name: str,
        statements: Sequence[str],
        grows: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self._connection, self._name, self._statements = connection, name, statements
        self._grows = dict(grows or {})

    async def write(self, work: Work[T]) -> T:
        """Do `work` in a transaction that creates the table if there is none; return what it returns."""

        def create_and_work(connection: sqlite3.Connection) -> T:
            for statement in self._statements:
                connection.execute(statement)
            return work(connection)

        await self._grow()
        return await self._connection.write(create_and_work)

    async def rows(self, sql: str, values: Values = ()) -> list[Row]:
        """Return the rows of a SELECT; none if there is no table."""
        await self._grow()
        return await self._connection.read(lambda connection: self._select(connection, sql, values))

    async def delete(self, column: str, names: Sequence[str]) -> int:
        """Delete the rows with one of the names in a column; return how many there were."""
        if not await self.rows(f"SELECT 1 FROM {self._name} LIMIT 1"):
            return 0
        sql, values = f"DELETE FROM {self._name} WHERE {column} = ?", [(name,) for name in names]
        return await self._connection.write(lambda connection: connection.executemany(sql, values).rowcount)

    async def _grow(self) -> None:
        """Add the columns that a table of an older version lacks; once for each connection."""
        missing = await self._connection.read(self._missing) if self._grows else []
        if missing:
            await self._connection.write(self._add_columns)
        self._grows.clear()

    def _add_columns(self, connection: sqlite3.Connection) -> None:
        for name in self._missing(connection):
            for statement in self._grows[name]:
                connection.execute(statement)

    def _missing(self, connection: sqlite3.Connection) -> list[str]:
        there = [name for (name,) in connection.execute("SELECT name FROM pragma_table_info(?)", (self._name,))]
        return [name for name in self._grows if there and name not in there]

    def _select(self, connection: sqlite3.Connection, sql: str, values: Values) -> list[Row]:
        name = "SELECT 1 FROM sqlite_master WHERE name = ?"
        if connection.execute(name, (self._name,)).fetchone() is None:
            return []
        return connection.execute(sql, values).fetchall()
