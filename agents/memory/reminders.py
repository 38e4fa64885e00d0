"""Reminders: what a user shall be told, and when; a table of its own, with an index on what is due.

A row stays when it has rung or was deleted: a call that is repeated after a crash finds its work done.
"""

import json
import sqlite3
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from agents.errors import UsageError
from agents.language.schedule import Moment
from agents.memory.connection import Connection, T, Work
from agents.memory.inbox import clean
from agents.memory.notices import Due, NoticeSource, rung
from agents.memory.rare_table import RareTable, Values
from agents.memory.reminder_row import Kind, Reminder, columns, unix_ms
from prompts import languages, phrase

TABLES = (
    """CREATE TABLE IF NOT EXISTS reminders (
    id INTEGER PRIMARY KEY AUTOINCREMENT, user TEXT NOT NULL, thread TEXT NOT NULL, added_by TEXT NOT NULL,
    number INTEGER NOT NULL, text TEXT NOT NULL, lang TEXT NOT NULL, zone TEXT NOT NULL,
    rule TEXT, start TEXT, at_ms INTEGER NOT NULL, due_ms INTEGER, rung_ms INTEGER,
    changed_by TEXT NOT NULL DEFAULT '', kind TEXT NOT NULL DEFAULT 'reminder', UNIQUE (user, added_by))""",
    "CREATE INDEX IF NOT EXISTS reminders_due ON reminders (due_ms) WHERE due_ms IS NOT NULL",
)
GROW = (
    "ALTER TABLE reminders ADD COLUMN kind TEXT NOT NULL DEFAULT 'reminder'",
    # Before, what had no text of its own was an alarm or a timer; only the latter began within a minute.
    f"""UPDATE reminders SET kind = CASE WHEN rule IS NULL AND at_ms % 60000 <> 0 THEN 'timer' ELSE 'alarm' END
    WHERE text IN ({", ".join(f"'{phrase('reminder_time_is_up', lang)}'" for lang in languages())})""",
)
REMINDERS = (
    "SELECT id, user, thread, number, text, lang, zone, rule, start, at_ms, due_ms, rung_ms, added_by, kind "
    "FROM reminders "
)
LIVE = f"{REMINDERS} WHERE user = ? AND (due_ms IS NOT NULL OR rung_ms > ?) ORDER BY number"
OF_CALL = f"{REMINDERS} WHERE user = ? AND added_by = ?"
DUE = f"""
{REMINDERS} WHERE due_ms <= ?1 AND (?2 IS NULL OR user = ?2) AND thread GLOB ?3 AND NOT thread GLOB ?4
ORDER BY due_ms, id
"""
ADD = """
INSERT INTO reminders (user, thread, added_by, number, text, lang, zone, rule, start, at_ms, due_ms, kind)
VALUES (:user, :thread, :added_by, :number, :text, :lang, :zone, :rule, :start, :at_ms, :at_ms, :kind)
"""
CHANGE = "UPDATE reminders SET text = :text, changed_by = :call%s WHERE id = :id AND changed_by <> :call"
MOVE = ", zone = :zone, rule = :rule, start = :start, at_ms = :at_ms, due_ms = :at_ms"
OF_CALLS = f"""{REMINDERS} WHERE user = ?1 AND (due_ms IS NOT NULL OR rung_ms > ?2)
AND EXISTS (SELECT 1 FROM json_each(?3) WHERE value IN (added_by, changed_by)) ORDER BY number"""
OF_KEYS = f"{REMINDERS} WHERE user = ? AND added_by IN (SELECT value FROM json_each(?))"
PUT_BACK = """
UPDATE reminders SET text = :text, zone = :zone, rule = :rule, start = :start, at_ms = :at_ms, due_ms = :due_ms,
    rung_ms = :rung_ms, number = :number, changed_by = '' WHERE user = :user AND added_by = :key
"""
TAKE_AWAY = """
UPDATE reminders SET text = '', due_ms = NULL, rung_ms = NULL, changed_by = '' WHERE user = ? AND added_by = ?
"""
DELETED = "SELECT 1 FROM reminders WHERE user = ? AND number = ? AND changed_by = ?"
DELETE = "UPDATE reminders SET text = '', due_ms = NULL, rung_ms = NULL, changed_by = ? WHERE id = ?"
RANG = """
UPDATE reminders SET due_ms = ?1, at_ms = coalesce(?1, at_ms), rung_ms = ?2 WHERE id = ?3 AND due_ms = ?4
"""
REMEMBERED_MS = 24 * 3600 * 1000
"""How long a reminder that has rung may still be put off, in milliseconds."""
MOST = 200
"""Reminders that a user may have at a time."""


class Reminders(NoticeSource):
    """Keep reminders in SQLite; what a method has returned from survives a power cut.

    Times are Unix milliseconds.
    """

    day: Callable[[str, str], Awaitable[str]]
    """Returns the plan of a user's day, in a language."""

    def __init__(self, connection: Connection, now: Callable[[], float]) -> None:
        super().__init__(now)
        self._table = RareTable(connection, "reminders", TABLES, {"kind": GROW})

    async def add(
        self, user: str, thread: str, call: str, *, text: str, lang: str, moment: Moment, kind: Kind = "reminder"
    ) -> Reminder:
        """Add a reminder; a call that has done so before is given what it added.

        Raises:
            UsageError: the user has too many.
        """
        values = dict(
            user=user, thread=thread, added_by=call, text=clean(text), lang=lang, kind=kind, **columns(moment)
        )

        def insert(connection: sqlite3.Connection) -> Reminder:
            if row := connection.execute(OF_CALL, (user, call)).fetchone():
                return Reminder(*row)
            live = self._live(connection, user)
            if len(live) >= MOST:
                raise UsageError(f"There are {MOST} reminders already; delete one first.")
            number = max((reminder.number for reminder in live), default=0) + 1
            connection.execute(ADD, {**values, "number": number})
            return Reminder(*connection.execute(OF_CALL, (user, call)).fetchone())

        return await self._write(insert)

    async def live(self, user: str) -> list[Reminder]:
        """Return the user's reminders to come, and those that have just rung, by number."""
        return await self._reminders(LIVE, (user, self._since()))

    async def of_calls(self, user: str, calls: Sequence[str]) -> list[Reminder]:
        """Return those of the user's live reminders that one of these calls has added, or was the last to change."""
        return await self._reminders(OF_CALLS, (user, self._since(), json.dumps([*calls])))

    async def change(self, reminder: Reminder, call: str, *, text: str, moment: Moment | None) -> None:
        """Give a reminder another text and, with `moment`, another time; do nothing if this call has done so."""
        values = {"text": clean(text), "call": call, "id": reminder.id, **(columns(moment) if moment else {})}
        sql = CHANGE % (MOVE if moment else "")
        await self._write(lambda connection: connection.execute(sql, values).rowcount)

    async def delete(self, user: str, number: int, call: str) -> bool:
        """Delete a reminder by its number, its text with it; False when there is none and this call deleted none."""

        def delete(connection: sqlite3.Connection) -> bool:
            if connection.execute(DELETED, (user, number, f"-{call}")).fetchone():
                return True
            ids = [reminder.id for reminder in self._live(connection, user) if reminder.number == number]
            connection.executemany(DELETE, [(f"-{call}", id) for id in ids])
            return bool(ids)

        return await self._write(delete)

    async def with_keys(self, user: str, keys: Sequence[str]) -> list[Reminder]:
        """Return those of the user's live reminders that were added by these calls."""
        reminders = await self._reminders(OF_KEYS, (user, json.dumps([*keys])))
        return [it for it in reminders if it.due_ms is not None or (it.rung_ms or 0) > self._since()]

    async def put_back(self, user: str, key: str, values: Mapping[str, Any] | None) -> None:
        """Make the reminder that a call has added what it was, or (None) take it away.

        It gets another number if its own is taken. What has rung since it was due does not ring for that again.
        """

        def put(connection: sqlite3.Connection) -> None:
            if values is None:
                connection.execute(TAKE_AWAY, (user, key))
                return
            taken = {it.number for it in self._live(connection, user) if it.added_by != key}
            number = max(taken) + 1 if values["number"] in taken else values["number"]
            rows = connection.execute(OF_CALL, (user, key))
            rung = next((self._unrepeated(Reminder(*row), values) for row in rows), {})
            connection.execute(PUT_BACK, {**values, **rung, "number": number, "user": user, "key": key})

        await self._write(put)

    async def due(self, until_ms: int, user: str | None, threads: str, without: str = "") -> Sequence[Due]:
        """Return the reminders that are due until then."""
        reminders = await self._reminders(DUE, (until_ms, user, threads, without))
        return [Due(f"reminder-{it.id}-{it.due_ms}", str(it.id), it.user, it.thread, it.at_ms) for it in reminders]

    async def text_of(self, due: Due, *, is_late: bool) -> str | None:
        """Return what a reminder tells; None if its time was changed, it was deleted or has rung meanwhile."""
        reminder = await self._still_due(due)
        if reminder is None:
            return None
        if reminder.kind == "day":
            return await self.day(reminder.user, reminder.lang)
        return rung(reminder.text, reminder.lang, reminder.moment.at, self._present(), is_late=is_late)

    async def rang(self, due: Due) -> None:
        """Take note that a reminder rang, and when it shall the next time; of repetitions missed one is told."""
        reminder = await self._still_due(due)
        if reminder is None:
            return
        moment = reminder.moment
        following = moment.following(self._present()) if moment.repeat else None
        values = following and unix_ms(following), self._now_ms(), reminder.id, reminder.due_ms
        await self._write(lambda connection: connection.execute(RANG, values).rowcount)

    async def _still_due(self, due: Due) -> Reminder | None:
        reminders = await self._reminders(f"{REMINDERS} WHERE id = ? AND due_ms = ?", (int(due.key), due.at_ms))
        return reminders[0] if reminders else None

    def _present(self) -> datetime:
        return datetime.fromtimestamp(self.now(), UTC)

    async def erase(self, thread: str, users: set[str]) -> None:
        """Delete the reminders of a thread, and all those of the users."""
        await self._table.delete("thread", [clean(thread)])
        await self._table.delete("user", [*users])
        self.changed.set()

    def _unrepeated(self, stored: Reminder, values: Mapping[str, Any]) -> dict[str, int | None]:
        """Return what has to differ in values that are put back: nothing unless it has rung since they were due."""
        if stored.rung_ms is None or values["due_ms"] is None or stored.rung_ms < values["due_ms"]:
            return {}
        coming = Reminder(0, "", "", **values).moment.following(datetime.fromtimestamp(self.now(), UTC))
        due = None if coming is None else unix_ms(coming)
        return {"due_ms": due, "at_ms": due or values["at_ms"], "rung_ms": stored.rung_ms}

    async def _write(self, work: Work[T]) -> T:
        outcome = await self._table.write(work)
        self.changed.set()
        return outcome

    async def _reminders(self, sql: str, values: Values) -> list[Reminder]:
        return [Reminder(*row) for row in await self._table.rows(sql, values)]

    def _live(self, connection: sqlite3.Connection, user: str) -> list[Reminder]:
        return [Reminder(*row) for row in connection.execute(LIVE, (user, self._since()))]

    def _since(self) -> int:
        return self._now_ms() - REMEMBERED_MS

    def _now_ms(self) -> int:
        return round(self.now() * 1000)
