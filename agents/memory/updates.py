"""The updates of a messenger: each is a row of the inbox until its request is done.

An update is stored before the messenger is told that it has arrived. A row that is closed keeps a keyed digest and a
time only, so that the same update is known when it comes again.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from agents.memory.connection import Connection, Session
from agents.memory.digests import Digests
from agents.memory.inbox import now_ms, storable

TABLES = """
CREATE TABLE updates (
    id INTEGER PRIMARY KEY AUTOINCREMENT, digest TEXT NOT NULL UNIQUE, door TEXT NOT NULL,
    received_ms INTEGER NOT NULL, body TEXT, answer TEXT, thread TEXT, message_id TEXT);
CREATE INDEX updates_open ON updates (door) WHERE body IS NOT NULL;
CREATE TABLE update_doors (id INTEGER PRIMARY KEY AUTOINCREMENT, door TEXT NOT NULL UNIQUE);
"""
ADD = """
INSERT INTO updates (digest, door, received_ms, body, thread)
VALUES (:digest, :door, :received_ms, :body, :thread) RETURNING id
"""
COLUMNS = "SELECT id, body, answer, thread, message_id, received_ms FROM updates"
CLOSE = "UPDATE updates SET body = NULL, answer = NULL, thread = NULL, message_id = NULL"
LINK = "UPDATE updates SET thread = ?, message_id = ? WHERE id = ?"
KEPT_MS = 7 * 24 * 3600 * 1000
"""The time for which a closed row is kept; a messenger keeps untaken updates for a day."""


@dataclass(frozen=True)
class StoredUpdate:
    """An update as it is stored. `received_ms` is Unix time in milliseconds."""

    id: int
    body: str | None
    """The messenger's update, as JSON; None when everything is done."""
    answer: str | None = None
    """The door's answer, as JSON, once it is known."""
    thread: str | None = None
    """The thread of the message that the update is a part of, or would become a part of."""
    message_id: str | None = None
    received_ms: int = 0


class Updates:
    """Keep updates in SQLite; a write survives a power cut once its method has returned."""

    def __init__(self, connection: Connection, digests: Digests) -> None:
        self._connection, self._digests = connection, digests

    async def enter(self, door: str) -> bool:
        """Note that a door uses the database; tell whether it was the first. Drop rows that were closed long ago."""

        def enter(connection: Session) -> bool:
            connection.execute("DELETE FROM updates WHERE body IS NULL AND received_ms < ?", (now_ms() - KEPT_MS,))
            connection.execute("INSERT INTO update_doors (door) VALUES (?) ON CONFLICT DO NOTHING", (door,))
            (first,) = connection.execute("SELECT door FROM update_doors ORDER BY id LIMIT 1").fetchone()
            return bool(first == door)

        return await self._connection.write(enter)

    async def take(self, door: str, key: str, body: str, thread: str | None = None) -> StoredUpdate:
        """Store an update, if it is not there, and return it as stored; `key` is its own within the door."""
        digest = self._digests.of(f"{door} {key}")

        def take(connection: Session) -> StoredUpdate:
            if row := connection.execute(f"{COLUMNS} WHERE digest = ?", (digest,)).fetchone():
                return StoredUpdate(*row)
            values = {"digest": digest, "door": door, "body": storable(body), "thread": thread}
            (id,) = connection.execute(ADD, {**values, "received_ms": now_ms()}).fetchone()
            return StoredUpdate(id, storable(body), thread=thread)

        return await self._connection.write(take)

    async def knows(self, door: str, key: str) -> bool:
        """Tell whether an update was stored, as far back as closed rows are kept."""
        values = (self._digests.of(f"{door} {key}"),)
        return bool(await self._connection.execute("SELECT 1 FROM updates WHERE digest = ?", values))

    async def open(self, door: str) -> list[StoredUpdate]:
        """Return the updates of a door that were never closed, oldest first."""
        rows = await self._connection.execute(f"{COLUMNS} WHERE door = ? AND body IS NOT NULL ORDER BY id", (door,))
        return [StoredUpdate(*row) for row in rows]

    async def answer(self, id: int, answer: str) -> None:
        """Store the door's answer, so that it is not worked out again."""
        sql = "UPDATE updates SET answer = ? WHERE id = ? AND body IS NOT NULL"
        await self._connection.execute(sql, (storable(answer), id))

    async def close(self, *ids: int) -> None:
        """Note that the requests of the updates are done."""
        sql = f"{CLOSE} WHERE id = ? AND body IS NOT NULL"
        await self._connection.write(lambda connection: connection.executemany(sql, [(id,) for id in ids]).rowcount)

    async def settle(self, thread: str, message_id: str) -> None:
        """Note that the outcome of a message is shown, and close the updates that belong to it."""
        await self._connection.write(lambda connection: close_with(connection, storable(thread), storable(message_id)))


def link(connection: Session, thread: str, message_id: str, ids: Sequence[int]) -> None:
    """Make updates a part of a message of the inbox; they are closed with it."""
    connection.executemany(LINK, [(thread, message_id, id) for id in ids])


def close_with(connection: Session, thread: str, message_id: str) -> None:
    """Close the updates that are a part of a message."""
    connection.execute(f"{CLOSE} WHERE body IS NOT NULL AND thread = ? AND message_id = ?", (thread, message_id))
