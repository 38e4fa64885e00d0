"""The table of reminders, with their texts and times.

A row stays after its last ring or its deletion: a call that is repeated after a crash finds its work done.
"""

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from typing import Any

from langgraph.store.base import BaseStore

from agents.errors import UsageError
from agents.language.schedule import Moment
from agents.memory import Memory
from agents.memory.connection import Connection, Session, T, Tables, Work
from agents.memory.inbox import storable
from agents.memory.notices import Due, NoticeSource, rung
from agents.memory.preferences import zone_of_user
from agents.state.speaker_state import Json
from agents.toolkit.services import Alarms, Services
from dialogs.planner.agenda import Agenda, stored_todos
from dialogs.planner.records import OTHERS, Kind, Reminder, timing, unix_ms

TABLES = Tables(
    "planner",
    {
        "make_reminders": """CREATE TABLE IF NOT EXISTS reminders (
        id INTEGER PRIMARY KEY AUTOINCREMENT, user TEXT NOT NULL, thread TEXT NOT NULL, added_by TEXT NOT NULL,
        number INTEGER NOT NULL, text TEXT NOT NULL, lang TEXT NOT NULL, zone TEXT NOT NULL,
        rule TEXT, start TEXT, at_ms INTEGER NOT NULL, due_ms INTEGER, rung_ms INTEGER,
        changed_by TEXT NOT NULL DEFAULT '', kind TEXT NOT NULL DEFAULT 'reminder', UNIQUE (user, added_by));
        CREATE INDEX IF NOT EXISTS reminders_due ON reminders (due_ms) WHERE due_ms IS NOT NULL""",
        "index_threads": "CREATE INDEX reminders_thread ON reminders (thread)",
        # Exceptions of a repetition: before, a skipped time was known only by the next one.
        "keep_exceptions": "ALTER TABLE reminders ADD COLUMN skipped TEXT NOT NULL DEFAULT ''",
        "keep_origins": """ALTER TABLE reminders ADD COLUMN origin TEXT NOT NULL DEFAULT '';
        UPDATE reminders SET origin = 'others' WHERE added_by LIKE 'ics-%'""",
    },
)
COLUMNS = [field.name for field in fields(Reminder)]
WRITTEN = [name for name in COLUMNS if name != "id"]
SELECT = f"SELECT {', '.join(COLUMNS)} FROM reminders"
OF_CALL = f"{SELECT} WHERE user = ? AND added_by = ?"
LAST = "SELECT coalesce(max(number), 0) FROM reminders WHERE user = ?"
OF_ROW = f"{SELECT} WHERE id = ?"
STILL_DUE = f"{SELECT} WHERE id = ? AND due_ms = ?"
LIVE = f"{SELECT} WHERE user = ? AND (due_ms IS NOT NULL OR rung_ms > ?) ORDER BY number"
DUE = """
SELECT id, user, thread, due_ms FROM reminders
WHERE due_ms <= :until_ms AND (:user IS NULL OR user = :user) AND glob(:threads, thread) ORDER BY due_ms, id
"""
ADD = f"INSERT INTO reminders ({', '.join(WRITTEN)}) VALUES ({', '.join(f':{name}' for name in WRITTEN)}) RETURNING id"
SAVE = f"UPDATE reminders SET {', '.join(f'{name} = :{name}' for name in WRITTEN)} WHERE id = :id"
# Entries from a calendar stay as long as that calendar may be read again.
PRUNE = """
DELETE FROM reminders WHERE user = :user AND due_ms IS NULL AND max(at_ms, coalesce(rung_ms, 0)) < :before_ms
AND added_by NOT LIKE 'ics-%' AND number < (SELECT max(number) FROM reminders WHERE user = :user)
"""
KEPT_MS = 90 * 24 * 3600 * 1000
"""The time for which a finished reminder is kept."""
REMEMBERED_MS = 24 * 3600 * 1000
"""The time after its ring in which a reminder can still be postponed."""
RING = "reminder"
"""The beginning of the id of a ring, before the row's number; a conversation keeps the ring's message under that id."""
MOST_REMINDERS = 200
"""The most reminders of a user at a time."""


class Reminders(NoticeSource):
    """Keeps reminders in the database; the writes of a finished method survive a power cut."""

    def __init__(self, database: Connection, store: BaseStore, now: Callable[[], float]) -> None:
        super().__init__(now)
        self._database, self._store = database, store

    async def add(
        self,
        user: str,
        thread: str,
        call: str,
        *,
        text: str,
        lang: str,
        moment: Moment,
        kind: Kind = "reminder",
        origin: str = "",
    ) -> Reminder:
        """Add a reminder; a repeated call gets the reminder that it added before.

        Raises:
            UsageError: the user has too many.
        """

        def insert(connection: Session) -> Reminder:
            if added := _first(connection, OF_CALL, user, call):
                return added
            if len(self._live(connection, user)) >= MOST_REMINDERS:
                raise UsageError(f"There are {MOST_REMINDERS} reminders already; delete one first.")
            # Finished reminders count too: the user may still mean the one that had a number.
            connection.execute(PRUNE, {"user": user, "before_ms": self.now_ms() - KEPT_MS})
            (last,) = connection.execute(LAST, (user,)).fetchone()
            new = Reminder(
                user=user,
                thread=storable(thread),
                added_by=call,
                number=last + 1,
                kind=kind,
                text=storable(text),
                lang=lang,
                origin=origin,
                **timing(moment),
            )
            (id,) = connection.execute(ADD, asdict(new)).fetchone()
            return replace(new, id=id)

        return await self._write(insert)

    async def live(self, user: str) -> list[Reminder]:
        """Return the user's coming reminders, and those that have just rung, by number."""
        return await self._database.read(lambda connection: self._live(connection, user))

    async def change(
        self, reminder: Reminder, call: str, *, text: str, moment: Moment | None, origin: str | None = None
    ) -> Reminder:
        """Give a reminder another text and, if given, another time and origin; do nothing if this call did it before.

        Returns the stored reminder.
        """

        def change(connection: Session) -> Reminder:
            stored = _first(connection, OF_CALL, reminder.user, reminder.added_by) or reminder
            if stored.changed_by == call:
                return stored
            whose = stored.origin if origin is None else origin
            changed = replace(stored, text=storable(text), origin=whose, changed_by=call)
            changed = replace(changed, **(timing(moment) if moment else {}))
            _save(connection, changed)
            return changed

        return await self._write(change)

    async def delete(self, user: str, keys: Collection[str]) -> None:
        """Delete the reminders, and their texts, that these calls have added."""

        def delete(connection: Session) -> None:
            for key in keys:
                if stored := _first(connection, OF_CALL, user, key):
                    _save(connection, replace(stored, text="", due_ms=None, rung_ms=None, changed_by=""))

        await self._write(delete)

    async def put_back(self, user: str, key: str, values: Json) -> None:
        """Restore a reminder's values, by the call that added it; one that has rung since does not ring again."""

        def put(connection: Session) -> None:
            stored = _first(connection, OF_CALL, user, key)
            if stored is None:
                return
            before = replace(stored, **{**values, "changed_by": ""})
            has_rung = stored.rung_ms and before.due_ms and stored.rung_ms >= before.due_ms
            _save(connection, self._after_ringing(before, stored.rung_ms) if has_rung else before)

        await self._write(put)

    async def due(self, until_ms: int, user: str | None, threads: str) -> Sequence[Due]:
        """Return the reminders that are due until then."""
        values = {"until_ms": until_ms, "user": user, "threads": threads}
        rows = await self._database.read(lambda connection: connection.execute(DUE, values).fetchall())
        return [Due(f"{RING}-{id}-{due_ms}", str(id), owner, thread, due_ms) for id, owner, thread, due_ms in rows]

    async def text_of(self, due: Due, *, is_late: bool) -> str | None:
        """Return the text of a reminder; None if it was moved or deleted, or has rung, in the meantime."""
        reminder = await self._database.read(lambda connection: _first(connection, STILL_DUE, due.key, due.at_ms))
        if reminder is None:
            return None
        if reminder.kind == "day":
            return (await self.agenda(reminder.user, reminder.lang)).today().text()
        return rung(reminder.text, reminder.lang, reminder.moment.at, self.present(), is_late=is_late)

    async def is_foreign(self, id: str) -> bool:
        """Tell whether others may have written the text of a ring; that of a day has every entry."""
        kind, _, rest = id.partition("-")
        row = rest.partition("-")[0]
        if kind != RING or not row.isdecimal():
            return False
        reminder = await self._database.read(lambda connection: _first(connection, OF_ROW, int(row)))
        if reminder is None or reminder.kind != "day":
            return reminder is not None and reminder.origin == OTHERS
        plans = await self.agenda(reminder.user, reminder.lang)
        return plans.tells_of_others(plans.today().text())

    async def rang(self, due: Due) -> None:
        """Note a reminder's ring, and set its next time; missed repetitions are left out.

        A reminder that was changed meanwhile stays as it is.
        """

        def note(connection: Session) -> None:
            if reminder := _first(connection, STILL_DUE, due.key, due.at_ms):
                _save(connection, self._after_ringing(reminder, self.now_ms()))

        await self._write(note)

    async def agenda(self, user: str, lang: str) -> Agenda:
        """Return a user's plans, by the time of the clock that rings."""
        todos = [item.value for item in await stored_todos(self._store, user)]
        return Agenda(await self.live(user), todos, lang, self.present(), await zone_of_user(self._store, user))

    async def erase(self, thread: str, users: Collection[str]) -> None:
        """Delete the reminders of a thread, and all those of the users."""

        def erase(connection: Session) -> None:
            connection.execute("DELETE FROM reminders WHERE thread = ?", (storable(thread),))
            connection.executemany("DELETE FROM reminders WHERE user = ?", [(user,) for user in users])

        await self._write(erase)

    def present(self) -> datetime:
        """Return the present time, to the second."""
        return datetime.fromtimestamp(int(self.now()), UTC)

    def _after_ringing(self, reminder: Reminder, rung_ms: int | None) -> Reminder:
        """Return a reminder after its ring: due at its next time, if it repeats."""
        moment = reminder.moment
        following = moment.following(datetime.fromtimestamp(self.now(), UTC)) if moment.repeat else None
        due_ms = unix_ms(following) if following else None
        return replace(reminder, due_ms=due_ms, at_ms=due_ms or reminder.at_ms, rung_ms=rung_ms)

    async def _write(self, work: Work[T]) -> T:
        outcome = await self._database.write(work)
        self.changed.set()
        return outcome

    def _live(self, connection: Session, user: str) -> list[Reminder]:
        return [_reminder(row) for row in connection.execute(LIVE, (user, self.now_ms() - REMEMBERED_MS))]


@dataclass(frozen=True)
class KeptAlarms(Alarms):
    """The alarms among the reminders, for other dialogs."""

    reminders: Reminders

    async def texts(self, user: str) -> list[str]:
        """See `Alarms`."""
        return [reminder.text for reminder in await self.reminders.live(user) if reminder.kind == "alarm"]


@asynccontextmanager
async def open_services(services: Services) -> AsyncIterator[Sequence[object]]:
    """Yield the table of reminders for the tools, and the alarms for other dialogs."""
    memory = services.get(Memory)
    reminders = Reminders(memory.database, memory.store, memory.now)
    yield [reminders, KeptAlarms(reminders)]


def _first(connection: Session, sql: str, *values: object) -> Reminder | None:
    row = connection.execute(sql, values).fetchone()
    return _reminder(row) if row else None


def _reminder(row: Sequence[Any]) -> Reminder:
    return Reminder(**dict(zip(COLUMNS, row, strict=True)))


def _save(connection: Session, reminder: Reminder) -> None:
    connection.execute(SAVE, asdict(reminder))
