"""Tables that few people need: the first write creates them, since an empty table takes 20 kB."""

import sqlite3
from collections.abc import Sequence

from agents.memory.connection import Connection, Row, T, Work

Values = Sequence[object] | dict[str, object]


class RareTable:
    """A table with its indexes; `statements` create what does not exist yet."""

    def __init__(self, connection: Connection, name: str, statements: Sequence[str]) -> None:
        self._connection, self._name, self._statements = connection, name, statements

    async def write(self, work: Work[T]) -> T:
        """Do `work` in a transaction that creates the table if there is none; return what it returns."""

        def create_and_work(connection: sqlite3.Connection) -> T:
            for statement in self._statements:
                connection.execute(statement)
            return work(connection)

        return await self._connection.write(create_and_work)

    async def rows(self, sql: str, values: Values = ()) -> list[Row]:
        """Return the rows of a SELECT; none if there is no table."""
        return await self._connection.read(lambda connection: self._select(connection, sql, values))

    async def delete(self, column: str, names: Sequence[str]) -> int:
        """Delete the rows with one of the names in a column; return how many there were."""
        if not await self.rows(f"SELECT 1 FROM {self._name} LIMIT 1"):
            return 0
        sql, values = f"DELETE FROM {self._name} WHERE {column} = ?", [(name,) for name in names]
        return await self._connection.write(lambda connection: connection.executemany(sql, values).rowcount)

    def _select(self, connection: sqlite3.Connection, sql: str, values: Values) -> list[Row]:
        name = "SELECT 1 FROM sqlite_master WHERE name = ?"
        if connection.execute(name, (self._name,)).fetchone() is None:
            return []
        return connection.execute(sql, values).fetchall()
