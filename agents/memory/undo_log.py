"""The undo log: the writes of each tool call, so that the user can take them back for a day."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from agents.memory.connection import Connection, Session
from agents.memory.inbox import storable
from agents.state.speaker_state import Json

Changes = Mapping[str, tuple[Any, Any]]
"""The value of each item before and after, by the item's key; None where the item did not exist."""
TABLES = """
CREATE TABLE undo_log (
    id INTEGER PRIMARY KEY AUTOINCREMENT, thread TEXT NOT NULL, user TEXT NOT NULL, message TEXT NOT NULL,
    speaker TEXT NOT NULL, tool TEXT NOT NULL, call TEXT NOT NULL, record TEXT NOT NULL, at_ms INTEGER NOT NULL,
    undone_by TEXT NOT NULL DEFAULT '', UNIQUE (thread, message, speaker, tool, call));
CREATE INDEX undo_log_time ON undo_log (at_ms);
"""
OF_CALL = """
SELECT record FROM undo_log
WHERE thread = :thread AND message = :message AND speaker = :speaker AND tool = :tool AND call = :call
"""
ENTER = """
INSERT INTO undo_log (thread, user, message, speaker, tool, call, record, at_ms)
VALUES (:thread, :user, :message, :speaker, :tool, :call, :record, :at_ms)
ON CONFLICT (thread, message, speaker, tool, call) DO UPDATE SET record = excluded.record
"""
OLD = "DELETE FROM undo_log WHERE at_ms <= ?"
LAST = """
SELECT message, record FROM undo_log
WHERE thread = :thread AND user = :user AND at_ms > :since AND undone_by = '' AND message <> :by
ORDER BY id DESC LIMIT 1
"""
CLAIM = """
UPDATE undo_log SET undone_by = :by
WHERE thread = :thread AND user = :user AND message = :message AND at_ms > :since AND undone_by = ''
"""
CLAIMED = """
SELECT id, speaker, tool, call, record FROM undo_log
WHERE thread = :thread AND user = :user AND undone_by = :by ORDER BY id DESC
"""
WRITES = """
SELECT undo_log.id, speaker, tool, call, record, message, coalesce(inbox.turn, 0), at_ms, undone_by,
    coalesce(undoing.turn, 0)
FROM undo_log LEFT JOIN inbox ON inbox.thread = undo_log.thread AND inbox.message_id = message
LEFT JOIN inbox AS undoing ON undoing.thread = undo_log.thread AND undoing.message_id = undone_by
WHERE undo_log.thread = ? AND undo_log.user = ? AND at_ms > ? ORDER BY undo_log.id
"""
MARK = "UPDATE undo_log SET undone_by = ? WHERE id = ?"
OF_USER = "DELETE FROM undo_log WHERE thread = ? AND user = ?"
OF_KIND = "DELETE FROM undo_log WHERE user = ? AND json_type(record, ?) IS NOT NULL"
LEFT = "\x1f"
"""In `undone_by`, in place of a message: the conversation has gone back behind the write's turn."""
FORGOTTEN = "forgotten"
"""In place of the tool's name: something was deleted for good without a tool."""
DAY_MS = 24 * 3600 * 1000


@dataclass(frozen=True, kw_only=True)
class ToolWrite:
    """A writing call, its user, and the place of the call."""

    thread: str
    user: str
    message: str
    speaker: str
    tool: str
    call: str


@dataclass(frozen=True)
class LoggedWrite:
    """A write to take back."""

    id: int
    speaker: str
    tool: str
    call: str
    record: Json
    """`items`: the changes by the name of their kind; or `args`, `object`, `text`: the call and its result."""
    message: str = ""
    turn: int = 0
    """0 while the message is being answered."""
    at_ms: int = 0
    undone_by: str = ""
    """The message that has taken the write back, or `LEFT`; empty: the write stands."""
    undone_in: int = 0
    """The turn of that message; 0 without one."""

    @property
    def is_undone(self) -> bool:
        """Whether it was taken back."""
        return bool(self.undone_by)


class UndoLog:
    """Keep the writes of the last day in SQLite; `now` tells the Unix time in seconds."""

    def __init__(self, connection: Connection, now: Callable[[], float]) -> None:
        self._connection, self._now = connection, now

    async def enter(self, write: ToolWrite, kind: str, changes: Changes) -> None:
        """Enter the changes that a call is about to make in items of a kind; entries that exist stay.

        A call that is repeated after a crash would take its own work for the values before it.
        """

        def merged(record: Json) -> Json:
            items = record.setdefault("items", {})
            items[kind] = {**{key: [*pair] for key, pair in changes.items()}, **items.get(kind, {})}
            return record

        await self._enter(write, merged)

    async def note(self, write: ToolWrite, record: Mapping[str, object]) -> None:
        """Enter a call that was done, unless it is entered already."""
        await self._enter(write, lambda entry: entry or dict(record))

    async def note_forgotten(self, thread: str, user: str, message: str) -> None:
        """Note that a message deleted something that no undo brings back."""
        write = ToolWrite(thread=thread, user=user, message=message, speaker="", tool=FORGOTTEN, call="")
        await self.note(write, {})

    async def changes(self, write: ToolWrite, kind: str) -> Changes:
        """Return the changes that earlier tries of a call were about to make in items of a kind."""
        rows = await self._connection.execute(OF_CALL, _values(write))
        items = json.loads(rows[0][0]).get("items", {}) if rows else {}
        return {key: (before, after) for key, (before, after) in items.get(kind, {}).items()}

    async def claim(self, thread: str, user: str, by: str, message: str | None, *, gone: bool) -> list[LoggedWrite]:
        """Give the writes of one message, the latest first, to the message that takes them back.

        `message` None: of the thread's last writing message; with `gone` only if that one deleted or changed
        something. The same message always claims the same writes, so that an undo that was cut off goes on with them.
        """
        since = self._now_ms() - DAY_MS
        values = {"thread": storable(thread), "user": storable(user), "by": storable(by), "since": since}

        def claim(connection: Session) -> list[LoggedWrite]:
            rows = connection.execute(CLAIMED, values).fetchall()
            if not rows:
                last = connection.execute(LAST, values).fetchone()
                if gone and last and _only_added(last[1]):
                    return []
                source = storable(message) if message is not None else last and last[0]
                connection.execute(CLAIM, {**values, "message": source})
                rows = connection.execute(CLAIMED, values).fetchall()
            return [LoggedWrite(row[0], row[1], row[2], row[3], json.loads(row[4])) for row in rows]

        return await self._connection.write(claim)

    async def writes(self, thread: str, user: str) -> list[LoggedWrite]:
        """Return the writes for a user in a thread within the last day, oldest first."""
        rows = await self._connection.execute(WRITES, (storable(thread), storable(user), self._now_ms() - DAY_MS))
        return [
            LoggedWrite(id, speaker, tool, call, json.loads(record), *further)
            for id, speaker, tool, call, record, *further in rows
        ]

    async def mark(self, undone_by: str, *writes: LoggedWrite) -> None:
        """Note at once the message that has taken some writes back; empty: they stand again."""

        def mark(database: Session) -> None:
            for write in writes:
                database.execute(MARK, (undone_by, write.id))

        await self._connection.write(mark)

    async def erase(self, thread: str, users: set[str]) -> None:
        """Delete the writes in a thread, and those of the users."""
        await self._connection.execute("DELETE FROM undo_log WHERE thread = ?", (storable(thread),))
        for user in users:
            await self._connection.execute("DELETE FROM undo_log WHERE user = ?", (storable(user),))

    async def erase_part(self, thread: str, user: str) -> None:
        """Delete the writes in a thread for a user."""
        await self._connection.execute(OF_USER, (storable(thread), storable(user)))

    async def erase_kind(self, user: str, kind: str) -> None:
        """Delete the writes to a user's items of a kind, such as "form"."""
        await self._connection.execute(OF_KIND, (storable(user), f"$.items.{kind}"))

    async def _enter(self, write: ToolWrite, change: Callable[[Json], Json]) -> None:
        values = _values(write)

        def enter(connection: Session) -> None:
            connection.execute(OLD, (self._now_ms() - DAY_MS,))
            row = connection.execute(OF_CALL, values).fetchone()
            record = json.dumps(change(json.loads(row[0]) if row else {}), ensure_ascii=False)
            connection.execute(ENTER, {**values, "record": storable(record), "at_ms": self._now_ms()})

        await self._connection.write(enter)

    def _now_ms(self) -> int:
        return round(self._now() * 1000)


def _values(write: ToolWrite) -> dict[str, object]:
    return {name: storable(text) for name, text in asdict(write).items()}


def _only_added(record: str) -> bool:
    pairs = [pair for changes in json.loads(record).get("items", {}).values() for pair in changes.values()]
    return bool(pairs) and all(before is None for before, _ in pairs)
