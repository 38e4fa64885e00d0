"""The tables of turns that doors hand to workers; every PostgreSQL database has them, so that `forget` empties them."""

from collections.abc import Collection

from agents.memory.connection import Connection, Tables
from agents.memory.inbox import storable

TABLES = Tables(
    "worker",
    {
        # Times are Unix seconds, by the clock of the server.
        "make_turns": """CREATE TABLE worker_turns (
        request TEXT PRIMARY KEY, thread TEXT NOT NULL, user TEXT NOT NULL, door TEXT NOT NULL, turn TEXT NOT NULL,
        attempt INTEGER NOT NULL DEFAULT 0, stop TEXT);
        CREATE INDEX worker_turns_thread ON worker_turns (thread);
        CREATE TABLE worker_events (
        request TEXT NOT NULL, attempt INTEGER NOT NULL, number INTEGER NOT NULL, thread TEXT NOT NULL,
        events TEXT NOT NULL, state TEXT NOT NULL, at REAL NOT NULL,
        PRIMARY KEY (request, attempt, number)) WITHOUT ROWID;
        CREATE INDEX worker_events_thread ON worker_events (thread)""",
    },
)
# A message that waits for a worker was not heard yet, and a running turn has a reader.
ERASE = "DELETE FROM worker_events WHERE thread = ? AND request NOT IN (SELECT request FROM worker_turns)"


async def erase(database: Connection, thread: str, users: Collection[str]) -> None:
    """Delete the events of a thread that no door has read."""
    await database.execute(ERASE, (storable(thread),))
