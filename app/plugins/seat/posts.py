"""The posts in a chat of operators: the thread of each, and the shown lines of each thread."""

from typing import NamedTuple

from agents.memory.connection import Connection
from agents.memory.inbox import storable
from app.plugins.seat.place import Seat

POST = """
INSERT INTO seat_posts (chat, message, thread, user) VALUES (:chat, :message, :thread, :user)
ON CONFLICT (chat, message) DO UPDATE SET thread = excluded.thread, user = excluded.user
"""
WATCH = """
INSERT INTO seat_watches (chat, thread, user, since_ms, holder, seen)
VALUES (:chat, :thread, :user, :since_ms, :holder, :seen)
ON CONFLICT (chat, thread) DO UPDATE
SET user = excluded.user, since_ms = excluded.since_ms, holder = excluded.holder, seen = excluded.seen
"""


class SeatWatch(NamedTuple):
    """A call, or a thread that a person holds from the chat."""

    thread: str
    since_ms: int
    """The time of its seat; another call of the thread has another time."""
    holder: str
    """The id of the person who holds the thread from this chat; empty while only the call was shown."""
    seen: int
    """The number of transcript lines that were shown, or came before the watch."""


class Posts:
    """Keeps the posts of one chat."""

    def __init__(self, connection: Connection, chat: int) -> None:
        self._connection, self._chat = connection, chat

    async def thread_of(self, message: int) -> str | None:
        """Return the thread of a post; None for another message."""
        sql = "SELECT thread FROM seat_posts WHERE chat = ? AND message = ?"
        rows = await self._connection.execute(sql, (self._chat, message))
        return str(rows[0][0]) if rows else None

    async def note(self, message: int, thread: str, user: str) -> None:
        """Note the thread of a post."""
        values = {"chat": self._chat, "message": message, "thread": storable(thread), "user": storable(user)}
        await self._connection.execute(POST, values)

    async def watched(self) -> dict[str, SeatWatch]:
        """Return the threads that the chat watches."""
        sql = "SELECT thread, since_ms, holder, seen FROM seat_watches WHERE chat = ?"
        return {row[0]: SeatWatch(*row) for row in await self._connection.execute(sql, (self._chat,))}

    async def watch(self, seat: Seat, holder: str, seen: int) -> None:
        """Let the chat watch a thread, from a line on."""
        values = {**seat._asdict(), "chat": self._chat, "holder": holder, "seen": seen}
        await self._connection.execute(WATCH, values)

    async def leave(self, thread: str) -> None:
        """End the chat's watch of a thread."""
        sql = "DELETE FROM seat_watches WHERE chat = ? AND thread = ?"
        await self._connection.execute(sql, (self._chat, thread))
