"""Ratings of answers: the turn that each messenger message shows, and people's reactions to it."""

from dataclasses import asdict, dataclass
from typing import NamedTuple

from agents.memory.connection import Connection, Session
from agents.memory.inbox import now_ms, storable

TABLES = """
CREATE TABLE shown_messages (
    door TEXT NOT NULL, chat INTEGER NOT NULL, message INTEGER NOT NULL, thread TEXT NOT NULL,
    message_id TEXT NOT NULL, user TEXT NOT NULL, at_ms INTEGER NOT NULL, PRIMARY KEY (door, chat, message))
    WITHOUT ROWID;
CREATE TABLE feedback (
    thread TEXT NOT NULL, message_id TEXT NOT NULL, user TEXT NOT NULL, sign TEXT NOT NULL, at_ms INTEGER NOT NULL,
    PRIMARY KEY (thread, message_id, user)) WITHOUT ROWID;
"""
SHOWN = """
INSERT INTO shown_messages (door, chat, message, thread, message_id, user, at_ms)
VALUES (:door, :chat, :message, :thread, :message_id, :user, :at_ms) ON CONFLICT (door, chat, message) DO UPDATE
SET thread = excluded.thread, message_id = excluded.message_id, user = excluded.user, at_ms = excluded.at_ms
"""
PRUNE = "DELETE FROM shown_messages WHERE door = ? AND chat = ? AND at_ms < ?"
TURN = "SELECT thread, message_id, user FROM shown_messages WHERE door = ? AND chat = ? AND message = ?"
OF = "WHERE thread = :thread AND message_id = :message_id AND user = :user"
ADD = """
INSERT INTO feedback (thread, message_id, user, sign, at_ms, word)
VALUES (:thread, :message_id, :user, :sign, :at_ms, :word)
"""
SIGNS = {"up": "👍", "down": "👎"}
"""The ratings of a door without reactions; they are kept as the reactions of messengers are."""
KEPT_MS = 30 * 24 * 3600 * 1000
"""The time for which the turn of a shown message is stored."""


@dataclass(frozen=True)
class ShownTurn:
    """The turn that a message of a messenger shows, by its inbox entry, and the user who was answered."""

    thread: str
    message_id: str
    user: str


class Rating(NamedTuple):
    """A user's rating of a turn: a sign (an emoji) and, maybe, a word."""

    message_id: str
    user: str
    sign: str
    word: str


class Feedback:
    """Keep in SQLite the turns that messages show, and one sign (an emoji) of each user for a turn."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def show(self, door: str, chat: int, message: int, turn: ShownTurn) -> None:
        """Note that a message of a chat shows a turn."""
        now = now_ms()
        names = {name: storable(text) for name, text in asdict(turn).items()}
        row = {"door": door, "chat": chat, "message": message, **names, "at_ms": now}

        def note(connection: Session) -> None:
            connection.execute(PRUNE, (door, chat, now - KEPT_MS))
            connection.execute(SHOWN, row)

        await self._connection.write(note)

    async def turn(self, door: str, chat: int, message: int) -> ShownTurn | None:
        """Return the turn that a message shows; None if it shows none, or is too old."""
        rows = await self._connection.execute(TURN, (door, chat, message))
        return ShownTurn(*rows[0]) if rows else None

    async def rate(self, turn: ShownTurn, user: str, sign: str | None, word: str = "") -> str | None:
        """Note a user's sign for a turn, with a word, and return the former sign; None as a sign takes it back."""
        place = {"thread": turn.thread, "message_id": turn.message_id, "user": storable(user)}

        def rate(connection: Session) -> str | None:
            row = connection.execute(f"SELECT sign FROM feedback {OF}", place).fetchone()
            connection.execute(f"DELETE FROM feedback {OF}", place)
            if sign is not None:
                rating = {"sign": storable(sign), "at_ms": now_ms(), "word": storable(word)}
                connection.execute(ADD, {**place, **rating})
            return str(row[0]) if row else None

        return await self._connection.write(rate)

    async def signs(self, thread: str, user: str) -> dict[str, str]:
        """Return a user's signs in a thread, by the messages of their turns."""
        sql = "SELECT message_id, sign FROM feedback WHERE thread = ? AND user = ?"
        return {str(id): str(sign) for id, sign in await self._connection.execute(sql, (thread, storable(user)))}

    async def of(self, thread: str) -> list[Rating]:
        """Return people's ratings of the turns of a thread, oldest first."""
        sql = "SELECT message_id, user, sign, word FROM feedback WHERE thread = ? ORDER BY at_ms"
        return [Rating(*row) for row in await self._connection.execute(sql, (storable(thread),))]

    async def counts(self, since_ms: int) -> dict[str, int]:
        """Return how often each sign was given since a time (Unix ms)."""
        sql = "SELECT sign, count(*) FROM feedback WHERE at_ms >= ? GROUP BY sign"
        return {str(sign): int(count) for sign, count in await self._connection.execute(sql, (since_ms,))}

    async def erase(self, thread: str, user: str | None = None) -> None:
        """Delete the turns and signs of a thread, or one user's in it."""
        if user is None:
            await self._erase("thread = ?", (storable(thread),))
        else:
            await self._erase("thread = ? AND user = ?", (storable(thread), storable(user)))

    async def erase_person(self, user: str) -> None:
        """Delete the turns and signs of a user."""
        await self._erase("user = ?", (storable(user),))

    async def _erase(self, condition: str, values: tuple[str, ...]) -> None:
        def erase(connection: Session) -> None:
            for table in ("shown_messages", "feedback"):
                connection.execute(f"DELETE FROM {table} WHERE {condition}", values)

        await self._connection.write(erase)
