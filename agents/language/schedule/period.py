"""The part of their plans that a person asks to see: a day, a week, the next item, the overdue ones, the time left."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

from agents.language.schedule import Moment, on_the_clock
from agents.language.schedule.calendar import DAY_KINDS, after, days_of
from agents.language.schedule.grammar import Amount, only_pieces
from prompts import table

Sort = Literal["days", "next", "overdue", "left", "count"]
MOST_TIMES = 50  # The most occurrences of one repetition in a period.


@dataclass(frozen=True)
class Period:
    """The requested part of the plans; `start` and `end` bound days, the end excluded."""

    sort: Sort
    start: datetime
    end: datetime

    @property
    def is_day(self) -> bool:
        """Whether it is a single day."""
        return self.end - self.start < timedelta(hours=36)

    def times(self, moment: Moment) -> Iterator[datetime]:
        """Yield the instants of a moment in the period; a repetition within a day counts once a day."""
        at: datetime | None = moment.at
        is_quick = moment.repeat is not None and moment.repeat.is_elapsed
        for _ in range(MOST_TIMES):
            if at is None or at >= self.end:
                return
            if at >= self.start:
                yield at
            begin = _midnight(at, 1) if is_quick and at >= self.start else self.start
            at = moment.following(max(at, begin - timedelta(seconds=1))) if moment.repeat else None


def period(text: str, lang: str, now: datetime, zone: ZoneInfo) -> Period | None:
    """Return the period that a text asks for ("Friday", "this week", "next", "how long is left"); None without one."""
    now = now.astimezone(zone)
    plain = " ".join(text.lower().replace("ё", "е").split()).strip(" ,.;:!?")
    view = next((name for name, phrases in table("schedule", lang)["views"].items() if plain in phrases), None)
    if view and view not in ("week", "weekend", "month"):
        return Period(view, _midnight(now, 0), _midnight(now, 1))
    # "My week" is this week.
    pieces = {"this": {"unit": view}} if view else only_pieces(plain, lang)
    if len(pieces) != 1:
        return None
    [(kind, values)] = pieces.items()
    if kind in ("this", "next") and (unit := values.get("unit")) in ("week", "weekend", "month"):
        today, is_month = now.date(), unit == "month"
        begun = today - timedelta(days=now.day - 1 if is_month else now.weekday())
        ends = [after(begun, Amount(months=count) if is_month else Amount(days=7 * count)) for count in (1, 2)]
        first, last = (today, ends[0]) if kind == "this" else ends
        first = max(first, last - timedelta(days=2)) if unit == "weekend" else first
        return Period("days", *(_midnight(now, (day - today).days) for day in (first, last)))
    if kind not in DAY_KINDS or kind == "next":
        return None
    try:
        ahead = next(((day - now.date()).days for day in days_of(kind, values, now.date())), None)
    except (ValueError, OverflowError):
        return None
    return None if ahead is None else Period("days", _midnight(now, ahead), _midnight(now, ahead + 1))


def day_of(at: datetime) -> Period:
    """Return the day of an instant."""
    return Period("days", _midnight(at, 0), _midnight(at, 1))


def _midnight(now: datetime, days: int) -> datetime:
    assert isinstance(now.tzinfo, ZoneInfo)
    return on_the_clock(datetime.combine(now.date() + timedelta(days=days), time()), now.tzinfo)
