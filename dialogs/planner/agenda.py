"""Plans: the reminders and to-dos of a day or a week, the next ones, the overdue ones, and the time left."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from math import ceil
from zoneinfo import ZoneInfo

from langgraph.store.base import BaseStore, Item

from agents.events.views import Day, DayEntry
from agents.language.schedule.period import Period, period
from agents.language.schedule.wording import clock, counted, heading, length, worded_instant
from agents.memory.store import namespace_of
from agents.state.speaker_state import Json
from dialogs.planner.records import KINDS, OTHERS, Reminder, name_of
from dialogs.planner.wording import PHRASES, said
from prompts import FALLBACK, table

MOST_LISTED = 40
"""The most shown entries, and the most shown to-dos, of a period."""
MOST_TODOS = 200
"""The most to-dos of a user."""
TODAY = "today"


@dataclass(frozen=True)
class Agenda:
    """A person's reminders and to-dos, seen from `now` in their zone."""

    reminders: Sequence[Reminder]
    todos: Sequence[Json]
    lang: str
    now: datetime
    zone: ZoneInfo

    def shown(self, period: Period) -> Day:
        """Return the view of a period."""
        match period.sort:
            case "next":
                return Day(title=said("agenda_next", self.lang), notes=self._next(len(self.reminders)))
            case "overdue":
                return Day(title=said("agenda_overdue", self.lang), notes=self._overdue() or [self._none()])
            case "left":
                return Day(notes=self._left() or [said("timers_running_none", self.lang)])
            case "count":
                return Day(notes=self._counts())
        return self.day(period) if period.is_day else self._week(period)

    def day(self, period: Period) -> Day:
        """Return one day: its reminders, the overdue ones from before it, the to-dos, and the next reminder."""
        is_today = period.start <= self.now.astimezone(self.zone) < period.end
        entries = self._entries(period)
        notes = self._remarks(period) if is_today else []
        if not entries and not notes:
            notes = [self._none()]
        return Day(title=heading(period.start, self.lang, self.now), entries=entries, notes=notes)

    def _remarks(self, today: Period) -> list[str]:
        """Return the overdue reminders from before today, the to-dos, and the next reminder."""
        late, upcoming = self._overdue(today.start), self._next(1)
        left_over = [said("agenda_left_over", self.lang, items="; ".join(late))] if late else []
        following = [said("agenda_upcoming", self.lang, items="; ".join(upcoming))] if upcoming else []
        return [*left_over, *self._to_do(), *following]

    def today(self) -> Day:
        """Return the present day."""
        today = period(TODAY, FALLBACK, self.now, self.zone)
        assert today is not None  # the fallback knows today
        return self.day(today)

    def tells_of_others(self, text: str) -> bool:
        """Tell whether a text of these plans may have words of other people."""
        entries = [
            *((it.origin, it.text) for it in self.reminders),
            *((it.get("origin"), it["text"]) for it in self.todos),
        ]
        return any(origin == OTHERS and words in text for origin, words in entries)

    def has_something_today(self) -> bool:
        """Tell whether the present day has any entry or remark."""
        return self.today().notes != [self._none()]

    def _week(self, period: Period) -> Day:
        entries = [
            DayEntry(f"{heading(at, self.lang, self.now)}, {clock(at, self.lang)}", self._label(reminder, at))
            for at, reminder in self._times(period)[:MOST_LISTED]
        ]
        notes = [] if entries else [self._none()]
        # To-dos have no day, so they stand with a period that has begun.
        return Day(entries=entries, notes=[*notes, *(self._to_do() if period.start <= self.now else [])])

    def _to_do(self) -> list[str]:
        texts = [str(todo["text"]) for todo in self.todos if not todo["done"]][:MOST_LISTED]
        return [said("agenda_todos", self.lang, items="; ".join(texts))] if texts else []

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
        lines = [
            f"{name_of(it, self.lang)}: {worded_instant(it.moment.at, self.lang, self.now)}" for it in coming[:most]
        ]
        return lines[:3] or ([self._none()] if most != 1 else [])

    def _overdue(self, before: datetime | None = None) -> list[str]:
        """Return the past reminders that were not deleted; past alarms and timers are over."""
        limit = before or self.now
        late = [it for it in self.reminders if it.kind == "reminder" and it.moment.at <= limit and not it.rule]
        return [f"{name_of(it, self.lang)}: {worded_instant(it.moment.at, self.lang, self.now)}" for it in late]

    def _left(self) -> list[str]:
        running = [it for it in self.reminders if it.kind == "timer" and it.due_ms and it.moment.at > self.now]
        spans = [length(ceil((it.moment.at - self.now).total_seconds()), self.lang) for it in running]
        pairs = zip(running, spans, strict=True)
        return [said("agenda_left", self.lang, name=name_of(it, self.lang), span=span) for it, span in pairs]

    def _counts(self) -> list[str]:
        def of(kind: str, count: int) -> str:
            return f"{count} {counted(table(PHRASES, self.lang)['counts'][kind], count)}"

        done = sum(todo["done"] for todo in self.todos)
        kinds = [it.kind for it in self.reminders if it.due_ms is not None and it.kind != "day"]
        parts = [of(kind, kinds.count(kind)) for kind in KINDS if kind in kinds] or [of("reminder", 0)]
        todos = of("todo", len(self.todos) - done)
        return [said("agenda_counts", self.lang, todos=todos, done=done, reminders=", ".join(parts))]

    def _label(self, reminder: Reminder, at: datetime) -> str:
        name = name_of(reminder, self.lang)
        is_over = at <= self.now and (reminder.due_ms is None or reminder.rule)
        return f"{name} ({said('reminder_rung', self.lang)})" if is_over else name

    def _none(self) -> str:
        return said("agenda_none", self.lang)


async def stored_todos(store: BaseStore, user: str, name: str = "todos") -> list[Item]:
    """Return a user's to-dos, or the entries of another list in the store, by number."""
    items = await store.asearch(namespace_of(user, name), limit=MOST_TODOS)
    return sorted(items, key=lambda item: int(item.value["number"]))
