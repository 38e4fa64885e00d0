"""Deletions to which users have agreed: a row stands until its deletion is done, so that no kill loses the wish.

No text is kept. A done deletion keeps neither thread nor user, only a keyed digest of the message, which
recognises the same message for a day.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass

from agents.memory.connection import Connection, Session
from agents.memory.digests import Digests
from agents.memory.inbox import now_ms, storable

TABLES = """
CREATE TABLE forgettings (
    digest TEXT PRIMARY KEY, thread TEXT NOT NULL, message_id TEXT NOT NULL, user TEXT NOT NULL,
    what TEXT NOT NULL, lang TEXT NOT NULL, at_ms INTEGER NOT NULL) WITHOUT ROWID;
"""
ADD = """
INSERT INTO forgettings (digest, thread, message_id, user, what, lang, at_ms)
VALUES (:digest, :thread, :message_id, :user, :what, :lang, :at_ms) ON CONFLICT DO NOTHING
"""
OLD = "DELETE FROM forgettings WHERE user = '' AND at_ms < ?"
COLUMNS = "SELECT thread, message_id, user, what, lang FROM forgettings"
CLOSE = "UPDATE forgettings SET thread = '', message_id = '', user = '', what = ?"
CLOSE_ALL = "UPDATE forgettings SET thread = '', message_id = '', user = '' WHERE user = ?"
NOT_ALL = "not_all"
"""What a done deletion has deleted if a plug-in has failed to delete its rows."""
KEPT_MS = 24 * 3600 * 1000
"""The time for which a message with a done deletion is recognised."""


@dataclass(frozen=True)
class Deletion:
    """A deletion to which a user's message has agreed, as `agents.conversation.deletion` names it, and the language.

    In a done deletion thread, message and user are empty.
    """

    thread: str
    message_id: str
    user: str
    what: str
    lang: str


class Forgettings:
    """Keep the deletions to do in SQLite; a write survives a power cut once its method has returned."""

    def __init__(self, connection: Connection, digests: Digests) -> None:
        self._connection, self._digests = connection, digests

    async def met(self, thread: str, user: str, message_id: str) -> tuple[list[Deletion], Deletion | None]:
        """Return the open deletions of a thread and of a user, and the done deletion of a message."""
        values = storable(thread), storable(user), self._digests.of(thread, message_id)
        rows = await self._connection.execute(f"{COLUMNS} WHERE thread = ? OR user = ? OR digest = ?", values)
        deletions = [Deletion(*row) for row in rows]
        done = next((deletion for deletion in deletions if not deletion.user), None)
        return [deletion for deletion in deletions if deletion.user], done

    async def of(self, thread: str, message_id: str) -> Deletion | None:
        """Return the deletion of a message, done or open; None if it has none."""
        rows = await self._connection.execute(f"{COLUMNS} WHERE digest = ?", (self._digests.of(thread, message_id),))
        return Deletion(*rows[0]) if rows else None

    def entering(self, deletion: Deletion) -> Callable[[Session], None]:
        """Return the function that notes a deletion inside the transaction that closes its message."""
        values = {name: storable(text) for name, text in asdict(deletion).items()}
        values["digest"] = self._digests.of(deletion.thread, deletion.message_id)

        def enter(session: Session) -> None:
            session.execute(OLD, (now_ms() - KEPT_MS,))
            session.execute(ADD, {**values, "at_ms": now_ms()})

        return enter

    async def close(self, deletion: Deletion) -> None:
        """Note that a deletion is done."""
        digest = self._digests.of(deletion.thread, deletion.message_id)
        await self._close(f"{CLOSE} WHERE digest = ?", deletion.what, digest)

    async def close_all(self, user: str) -> None:
        """Note that all deletions of a user are done."""
        await self._close(CLOSE_ALL, storable(user))

    async def _close(self, statement: str, *values: str) -> None:
        await self._connection.execute(statement, values)
        # The log holds the user's name, and the file holds it until the log is moved there.
        await self._connection.truncate()
