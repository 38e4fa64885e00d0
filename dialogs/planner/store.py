"""The table of reminders: what a user shall be told, and when.

A row stays when it has rung or was deleted: a call that is repeated after a crash finds its work done.
"""

import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from typing import Any

from langgraph.store.base import BaseStore

from agents.errors import UsageError
from agents.language.schedule import Moment
from agents.memory.connection import Connection, T, Tables, Work
from agents.memory.inbox import clean
from agents.memory.notices import Due, NoticeSource, rung
from agents.memory.preferences import zone_of_user
from agents.toolkit.services import Alarms
from dialogs.planner.agenda import Agenda, stored_todos
from dialogs.planner.records import Kind, Reminder, timing, unix_ms

TABLES = Tables(
    "planner",
    (
        """CREATE TABLE IF NOT EXISTS reminders (
        id INTEGER PRIMARY KEY AUTOINCREMENT, user TEXT NOT NULL, thread TEXT NOT NULL, added_by TEXT NOT NULL,
        number INTEGER NOT NULL, text TEXT NOT NULL, lang TEXT NOT NULL, zone TEXT NOT NULL,
        rule TEXT, start TEXT, at_ms INTEGER NOT NULL, due_ms INTEGER, rung_ms INTEGER,
        changed_by TEXT NOT NULL DEFAULT '', kind TEXT NOT NULL DEFAULT 'reminder', UNIQUE (user, added_by));
        CREATE INDEX IF NOT EXISTS reminders_due ON reminders (due_ms) WHERE due_ms IS NOT NULL""",
    ),
)
COLUMNS = [field.name for field in fields(Reminder)]
WRITTEN = [name for name in COLUMNS if name != "id"]
SELECT = f"SELECT {', '.join(COLUMNS)} FROM reminders"
OF_CALL = f"{SELECT} WHERE user = ? AND added_by = ?"
STILL_DUE = f"{SELECT} WHERE id = ? AND due_ms = ?"
LIVE = f"{SELECT} WHERE user = ? AND (due_ms IS NOT NULL OR rung_ms > ?) ORDER BY number"
DUE = """
SELECT id, user, thread, due_ms FROM reminders
WHERE due_ms <= ?1 AND (?2 IS NULL OR user = ?2) AND thread GLOB ?3 AND NOT thread GLOB ?4 ORDER BY due_ms, id
"""
ADD = f"INSERT INTO reminders ({', '.join(WRITTEN)}) VALUES ({', '.join(f':{name}' for name in WRITTEN)})"
SAVE = f"UPDATE reminders SET {', '.join(f'{name} = :{name}' for name in WRITTEN)} WHERE id = :id"
REMEMBERED_MS = 24 * 3600 * 1000
"""How long a reminder that has rung may still be put off."""
MOST_REMINDERS = 200
"""Reminders that a user may have at a time."""


class Reminders(NoticeSource):
    """Keep reminders in SQLite; what a method has returned from survives a power cut."""

    def __init__(self, database: Connection, store: BaseStore, now: Callable[[], float]) -> None:
        super().__init__(now)
        self._database, self._store = database, store

    async def add(
        self, user: str, thread: str, call: str, *, text: str, lang: str, moment: Moment, kind: Kind = "reminder"
    ) -> Reminder:
        """Add a reminder; a call that has done so before is given what it added.

        Raises:
            UsageError: the user has too many.
        """

        def insert(connection: sqlite3.Connection) -> Reminder:
            if added := _first(connection, OF_CALL, user, call):
                return added
            live = self._live(connection, user)
            if len(live) >= MOST_REMINDERS:
                raise UsageError(f"There are {MOST_REMINDERS} reminders already; delete one first.")
            number = max((it.number for it in live), default=0) + 1
            new = Reminder(
                user=user,
                thread=clean(thread),
                added_by=call,
                number=number,
                kind=kind,
                text=clean(text),
                lang=lang,
                **timing(moment),
            )
            id = connection.execute(ADD, asdict(new)).lastrowid
            return replace(new, id=id or 0)

        return await self._write(insert)

    async def live(self, user: str) -> list[Reminder]:
        """Return the user's reminders to come, and those that have just rung, by number."""
        return await self._database.read(lambda connection: self._live(connection, user))

    async def change(self, reminder: Reminder, call: str, *, text: str, moment: Moment | None) -> Reminder:
        """Give a reminder another text and, with `moment`, another time; do nothing if this call has done so.

        Returns it as it is stored.
        """

        def change(connection: sqlite3.Connection) -> Reminder:
            stored = _first(connection, OF_CALL, reminder.user, reminder.added_by) or reminder
            if stored.changed_by == call:
                return stored
            changed = replace(stored, text=clean(text), changed_by=call, **(timing(moment) if moment else {}))
            _save(connection, changed)
            return changed

        return await self._write(change)

    async def delete(self, user: str, keys: Collection[str]) -> None:
        """Delete the reminders that these calls have added, with their texts."""

        def delete(connection: sqlite3.Connection) -> None:
            for key in keys:
                if stored := _first(connection, OF_CALL, user, key):
                    _save(connection, replace(stored, text="", due_ms=None, rung_ms=None, changed_by=""))

        await self._write(delete)

    async def put_back(self, user: str, key: str, values: Mapping[str, Any]) -> None:
        """Make the reminder that a call has added what it was.

        It gets another number if its own is taken. What has rung since it was due does not ring for that again.
        """

        def put(connection: sqlite3.Connection) -> None:
            stored = _first(connection, OF_CALL, user, key)
            if stored is None:
                return
            taken = {it.number for it in self._live(connection, user) if it.added_by != key}
            number = max(taken) + 1 if values["number"] in taken else values["number"]
            before = replace(stored, **{**values, "number": number, "changed_by": ""})
            has_rung = stored.rung_ms and before.due_ms and stored.rung_ms >= before.due_ms
            _save(connection, self._after_ringing(before, stored.rung_ms) if has_rung else before)

        await self._write(put)

    async def due(self, until_ms: int, user: str | None, threads: str, without: str = "") -> Sequence[Due]:
        """Return the reminders that are due until then."""
        values = until_ms, user, threads, without
        rows = await self._database.read(lambda connection: connection.execute(DUE, values).fetchall())
        return [Due(f"reminder-{id}-{due_ms}", str(id), owner, thread, due_ms) for id, owner, thread, due_ms in rows]

    async def text_of(self, due: Due, *, is_late: bool) -> str | None:
        """Return what a reminder tells; None if its time was changed, it was deleted or has rung meanwhile."""
        reminder = await self._database.read(lambda connection: _first(connection, STILL_DUE, due.key, due.at_ms))
        if reminder is None:
            return None
        if reminder.kind == "day":
            return (await self.agenda(reminder.user, reminder.lang)).today().text()
        return rung(reminder.text, reminder.lang, reminder.moment.at, self.present(), is_late=is_late)

    async def rang(self, due: Due) -> None:
        """Take note that a reminder rang, and when it shall the next time; repetitions that were missed are left out.

        A reminder that was changed meanwhile stays as it is.
        """

        def note(connection: sqlite3.Connection) -> None:
            if reminder := _first(connection, STILL_DUE, due.key, due.at_ms):
                _save(connection, self._after_ringing(reminder, self._now_ms()))

        await self._write(note)

    async def agenda(self, user: str, lang: str) -> Agenda:
        """Return what a user has before them, by the clock that rings."""
        todos = [item.value for item in await stored_todos(self._store, user)]
        return Agenda(await self.live(user), todos, lang, self.present(), await zone_of_user(self._store, user))

    async def erase(self, thread: str, users: Collection[str]) -> None:
        """Delete the reminders of a thread, and all those of the users."""

        def erase(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM reminders WHERE thread = ?", (clean(thread),))
            connection.executemany("DELETE FROM reminders WHERE user = ?", [(user,) for user in users])

        await self._write(erase)

    def present(self) -> datetime:
        """Return the present time, to the second."""
        return datetime.fromtimestamp(int(self.now()), UTC)

    def _after_ringing(self, reminder: Reminder, rung_ms: int | None) -> Reminder:
        """Return a reminder as it is when it has rung: due the next time that it comes, if it repeats."""
        moment = reminder.moment
        following = moment.following(datetime.fromtimestamp(self.now(), UTC)) if moment.repeat else None
        due_ms = unix_ms(following) if following else None
        return replace(reminder, due_ms=due_ms, at_ms=due_ms or reminder.at_ms, rung_ms=rung_ms)

    async def _write(self, work: Work[T]) -> T:
        outcome = await self._database.write(work)
        self.changed.set()
        return outcome

    def _live(self, connection: sqlite3.Connection, user: str) -> list[Reminder]:
        return [_reminder(row) for row in connection.execute(LIVE, (user, self._now_ms() - REMEMBERED_MS))]

    def _now_ms(self) -> int:
        return round(self.now() * 1000)


@dataclass(frozen=True)
class KeptAlarms(Alarms):
    """The alarms among the reminders, for other dialogs."""

    reminders: Reminders

    async def texts(self, user: str) -> list[str]:
        """See `Alarms`."""
        return [reminder.text for reminder in await self.reminders.live(user) if reminder.kind == "alarm"]


def _first(connection: sqlite3.Connection, sql: str, *values: object) -> Reminder | None:
    row = connection.execute(sql, values).fetchone()
    return _reminder(row) if row else None


def _reminder(row: Sequence[Any]) -> Reminder:
    return Reminder(**dict(zip(COLUMNS, row, strict=True)))


def _save(connection: sqlite3.Connection, reminder: Reminder) -> None:
    connection.execute(SAVE, asdict(reminder))
