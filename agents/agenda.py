"""What is on: the reminders and to-dos of a day or a week, what is next, overdue, and how long is left."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import ceil
from typing import Any
from zoneinfo import ZoneInfo

from langgraph.store.base import BaseStore

from agents.events.views import Day, DayEntry
from agents.language.schedule.period import Period, period
from agents.language.schedule.wording import clock, counted, heading, length, worded_instant
from agents.memory.preferences import zone_of_user
from agents.memory.reminder_row import KINDS, Reminder
from agents.memory.reminders import Reminders
from agents.memory.store import namespace_of
from prompts import phrase, table

MOST_LISTED = 40
"""Entries, and to-dos, that are shown of a period."""
MOST_TODOS = 200
"""To-dos a user may keep."""
TODAY = "today"


@dataclass(frozen=True)
class Agenda:
    """A person's reminders and to-dos, as they are `now` in their zone."""

    reminders: Sequence[Reminder]
    todos: Sequence[Mapping[str, Any]]
    lang: str
    now: datetime
    zone: ZoneInfo

    def shown(self, period: Period) -> Day:
        """Return what was asked for, for the screen."""
        match period.sort:
            case "next":
                return Day(title=phrase("agenda_next", self.lang), notes=self._next(len(self.reminders)))
            case "overdue":
                return Day(title=phrase("agenda_overdue", self.lang), notes=self._overdue() or [self._none()])
            case "left":
                return Day(notes=self._left() or [phrase("timers_running_none", self.lang)])
            case "count":
                return Day(notes=self._counts())
        return self.day(period) if period.is_day else self._week(period)

    def day(self, period: Period) -> Day:
        """Return one day: what is on, what was left over before it, what is to do, and what comes next."""
        is_today = period.start <= self.now.astimezone(self.zone) < period.end
        entries = self._entries(period)
        notes = self._remarks(period) if is_today else []
        if not entries and not notes:
            notes = [self._none()]
        return Day(title=heading(period.start, self.lang, self.now), entries=entries, notes=notes)

    def _remarks(self, today: Period) -> list[str]:
        """Return what was left over before today, what is to do, and what comes next."""
        texts = [str(todo["text"]) for todo in self.todos if not todo["done"]]
        items = {"left_over": self._overdue(today.start), "todos": texts[:MOST_LISTED], "upcoming": self._next(1)}
        return [phrase(f"agenda_{key}", self.lang, items="; ".join(lines)) for key, lines in items.items() if lines]

    def is_empty(self, period: Period) -> bool:
        """Whether there is nothing to tell of a day."""
        return self.day(period).notes == [self._none()]

    def _week(self, period: Period) -> Day:
        entries = [
            DayEntry(f"{heading(at, self.lang, self.now)}, {clock(at, self.lang)}", self._label(reminder, at))
            for at, reminder in self._times(period)[:MOST_LISTED]
        ]
        return Day(entries=entries, notes=[] if entries else [self._none()])

    def _entries(self, period: Period) -> list[DayEntry]:
        return [DayEntry(clock(at, self.lang), self._label(it, at)) for at, it in self._times(period)[:MOST_LISTED]]

    def _times(self, period: Period) -> list[tuple[datetime, Reminder]]:
        entries = [
            (at.astimezone(self.zone), reminder)
            for reminder in self.reminders
            if reminder.kind != "day"
            for at in period.times(reminder.moment)
        ]
        return sorted(entries, key=lambda pair: pair[0])

    def _next(self, most: int) -> list[str]:
        coming = [it for it in self.reminders if it.due_ms is not None and it.kind != "day"]
        coming = sorted((it for it in coming if it.moment.at > self.now), key=lambda it: it.at_ms)
        lines = [f"{self.name(it)}: {worded_instant(it.moment.at, self.lang, self.now)}" for it in coming[:most]]
        return lines[:3] or ([self._none()] if most != 1 else [])

    def _overdue(self, before: datetime | None = None) -> list[str]:
        """Return the reminders whose time is past and that were not deleted; alarms and timers are over by then."""
        limit = before or self.now
        late = [it for it in self.reminders if it.kind == "reminder" and it.moment.at <= limit and not it.rule]
        return [f"{self.name(it)}: {worded_instant(it.moment.at, self.lang, self.now)}" for it in late]

    def _left(self) -> list[str]:
        running = [it for it in self.reminders if it.kind == "timer" and it.due_ms and it.moment.at > self.now]
        spans = [length(ceil((it.moment.at - self.now).total_seconds()), self.lang) for it in running]
        pairs = zip(running, spans, strict=True)
        return [phrase("agenda_left", self.lang, name=self.name(it), span=span) for it, span in pairs]

    def _counts(self) -> list[str]:
        def of(kind: str, count: int) -> str:
            return f"{count} {counted(table('schedule', self.lang)['counts'][kind], count)}"

        done = sum(todo["done"] for todo in self.todos)
        kinds = [it.kind for it in self.reminders if it.due_ms is not None and it.kind != "day"]
        parts = [of(kind, kinds.count(kind)) for kind in KINDS if kind in kinds] or [of("reminder", 0)]
        todos = of("todo", len(self.todos) - done)
        return [phrase("agenda_counts", self.lang, todos=todos, done=done, reminders=", ".join(parts))]

    def name(self, reminder: Reminder) -> str:
        """Return what a reminder is about, or its kind."""
        is_bare = reminder.text == phrase("reminder_time_is_up", reminder.lang)
        kind = phrase(f"kind_{reminder.kind}", self.lang)
        if is_bare:
            return kind
        return reminder.text if reminder.kind == "reminder" else f"{reminder.text} ({kind})"

    def _label(self, reminder: Reminder, at: datetime) -> str:
        is_over = at <= self.now and (reminder.due_ms is None or reminder.rule)
        return f"{self.name(reminder)} ({phrase('reminder_rung', self.lang)})" if is_over else self.name(reminder)

    def _none(self) -> str:
        return phrase("agenda_none", self.lang)


async def agenda_of(reminders: Reminders, store: BaseStore, user: str, lang: str) -> Agenda:
    """Return what a user has before them, by the clock that rings."""
    items = await store.asearch(namespace_of(user, "todos"), limit=MOST_TODOS)
    todos = sorted((item.value for item in items), key=lambda todo: int(todo["number"]))
    now = datetime.fromtimestamp(int(reminders.now()), UTC)
    return Agenda(await reminders.live(user), todos, lang, now, await zone_of_user(store, user))


async def today_of(reminders: Reminders, store: BaseStore, user: str, lang: str, *, if_any: bool = False) -> str:
    """Return a user's day in words; empty if there is nothing to tell and only that is wanted (`if_any`)."""
    plans = await agenda_of(reminders, store, user, lang)
    today = period(TODAY, "en", plans.now, plans.zone)
    assert today is not None  # English knows today
    return "" if if_any and plans.is_empty(today) else plans.day(today).text()
