"""What users have agreed to have deleted: a row stands until that is done, so that no kill loses the wish.

No text is kept. Of a done deletion neither thread nor user is kept, only a keyed digest of the message, which
recognises the same message for a day.
"""

from collections.abc import Callable
from dataclasses import dataclass

from agents.memory.connection import Connection, Session
from agents.memory.digests import Digests
from agents.memory.inbox import now_ms, storable

TABLES = """
CREATE TABLE forgettings (
    digest TEXT PRIMARY KEY, thread TEXT NOT NULL, message_id TEXT NOT NULL, user TEXT NOT NULL,
    what TEXT NOT NULL, lang TEXT NOT NULL, at_ms INTEGER NOT NULL) WITHOUT ROWID;
"""
ADD = "INSERT INTO forgettings VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
OLD = "DELETE FROM forgettings WHERE user = '' AND at_ms < ?"
COLUMNS = "SELECT thread, message_id, user, what, lang FROM forgettings"
CLOSE = "UPDATE forgettings SET thread = '', message_id = '', user = ''"
KEPT_MS = 24 * 3600 * 1000
"""How long a message that had something deleted is recognised."""


@dataclass(frozen=True)
class Deletion:
    """What a user has agreed to by a message, as `agents.conversation.forgetting` names it, and in which language.

    Of what is done thread, message and user are empty.
    """

    thread: str
    message_id: str
    user: str
    what: str
    lang: str


class Forgettings:
    """Keep in SQLite what is to be deleted; what a method has returned from survives a power cut."""

    def __init__(self, connection: Connection, digests: Digests) -> None:
        self._connection, self._digests = connection, digests

    async def met(self, thread: str, user: str, message_id: str) -> tuple[list[Deletion], Deletion | None]:
        """Return what still has to be deleted, of a thread and of a user, and what a message has deleted."""
        values = storable(thread), storable(user), self._digests.of(thread, message_id)
        rows = await self._connection.execute(f"{COLUMNS} WHERE thread = ? OR user = ? OR digest = ?", values)
        deletions = [Deletion(*row) for row in rows]
        return [it for it in deletions if it.user], next((it for it in deletions if not it.user), None)

    async def of(self, thread: str, message_id: str) -> Deletion | None:
        """Return what a message has deleted, or will; None if nothing."""
        rows = await self._connection.execute(f"{COLUMNS} WHERE digest = ?", (self._digests.of(thread, message_id),))
        return Deletion(*rows[0]) if rows else None

    def entering(self, deletion: Deletion) -> Callable[[Session], None]:
        """Return what notes a deletion inside the transaction that closes its message."""
        names = [storable(name) for name in (deletion.thread, deletion.message_id, deletion.user)]
        digest = self._digests.of(deletion.thread, deletion.message_id)

        def enter(session: Session) -> None:
            session.execute(OLD, (now_ms() - KEPT_MS,))
            session.execute(ADD, (digest, *names, deletion.what, deletion.lang, now_ms()))

        return enter

    async def close(self, deletion: Deletion) -> None:
        """Note that something is deleted."""
        await self._close("digest", self._digests.of(deletion.thread, deletion.message_id))

    async def close_all(self, user: str) -> None:
        """Note that everything is deleted whose deletion a user has wanted."""
        await self._close("user", storable(user))

    async def _close(self, column: str, value: str) -> None:
        await self._connection.execute(f"{CLOSE} WHERE {column} = ?", (value,))
        # The log holds the user's name, and the file holds it until the log is moved there.
        await self._connection.truncate()
