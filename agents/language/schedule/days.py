"""The days and the times of day that a text may mean."""

from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from agents.language.schedule import on_the_clock
from agents.language.schedule.grammar import Amount, Pieces, Values

DAY_KINDS = ("day", "next_weekday", "next", "monthday", "date", "weekday")
"""The kinds of pieces that name a day; a weekday may stand beside another one."""
LONGEST_MONTH, LEAP = 31, 2028
FAR = 24
"""Months, and years, within which a day must come."""


def days_of(kind: str, values: Values, today: date) -> Iterator[date]:
    """Yield the days that a piece may mean, from `today` on; none when there is no such day."""
    match kind:
        case "day":
            yield today + timedelta(days=int(values["day"]))
        case "weekday" | "next_weekday":
            ahead = (int(values["weekday"]) - today.isoweekday()) % 7
            if kind == "next_weekday":
                yield today + timedelta(days=7 - today.isoweekday() + int(values["weekday"]))
            else:
                yield today + timedelta(days=ahead)
                yield today + timedelta(days=ahead + 7)
        case "next":
            yield _next(values.get("unit", "week"), today)
        case "monthday":
            months = (after(today.replace(day=1), Amount(months=ahead)) for ahead in range(FAR))
            day = int(values.get("nth") or values["monthday"])
            yield from (dated for month in months if (dated := _day_of(month, day)) and dated >= today)
        case "date":
            years = [int(values["year"])] if "year" in values else range(today.year, today.year + FAR)
            month, day = int(values.get("month") or values["month_number"]), int(values["monthday"])
            dates = (_day_of(date(year, month, 1), day) for year in years)
            yield from (dated for dated in dates if dated and dated >= today)


def exists(kind: str, values: Values) -> bool:
    """Tell whether there is such a day in any year: no 31 February, no 42nd."""
    if kind == "monthday":
        return -1 <= int(values.get("nth") or values["monthday"]) <= LONGEST_MONTH
    if kind != "date":
        return True
    month, day = int(values.get("month") or values["month_number"]), int(values["monthday"])
    years = [int(values["year"])] if "year" in values else [LEAP]
    return any(_day_of(date(year, month, 1), day) for year in years)


def after(day: date, amount: Amount) -> date:
    """Return the day that lies months and days later; the last of its month when that is too short."""
    months = day.year * 12 + day.month - 1 + amount.months
    year, month = divmod(months, 12)
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1])) + timedelta(days=amount.days)


def _next(unit: str, today: date) -> date:
    match unit:
        case "week":
            return today + timedelta(days=8 - today.isoweekday())
        case "month":
            return after(today.replace(day=1), Amount(months=1))
        case "year":
            return date(today.year + 1, 1, 1)
    return today + timedelta(days=1)


def _day_of(month: date, day: int) -> date | None:
    last = monthrange(month.year, month.month)[1]
    if day == -1:
        return month.replace(day=last)
    return month.replace(day=day) if 1 <= day <= last else None


PARTS = {"morning": 9, "afternoon": 15, "evening": 19, "night": 22}
"""The hour at which a part of the day is meant when no hour is named."""
MORNING = PARTS["morning"]
NAMED = ("clock", "past", "to", "into")
TIME_KINDS = {*NAMED, "part", "daily"}


@dataclass(frozen=True)
class Clock:
    """A time of day. Hour 24 is midnight at the day's end."""

    hour: int = MORNING
    minute: int = 0
    is_vague: bool = False
    """Whether the hour may also be meant twelve hours later."""

    def on(self, day: date, zone: ZoneInfo) -> datetime:
        """Return the instant on a day."""
        return on_the_clock(datetime.combine(day, time()) + timedelta(hours=self.hour, minutes=self.minute), zone)

    def afternoon(self) -> "Clock":
        """Return the time twelve hours later."""
        return Clock(self.hour + 12, self.minute)


def clock_of(pieces: Pieces) -> Clock | None:
    """Return the time of day that the pieces name; None when they name none.

    Raises:
        ValueError: there is no such time.
    """
    part = pieces.get("part", {}).get("part") or pieces.get("daily", {}).get("part")
    part = part or pieces.get("daily", {}).get("parts")
    named = [kind for kind in NAMED if kind in pieces]
    if len(named) > 1:
        raise ValueError("two times of day")
    if not named:
        return Clock(PARTS[part]) if part else None
    values = pieces[named[0]]
    if "named" in values:
        return Clock(int(values["named"]))
    part = values.get("half") or values.get("part") or part
    hour, minute = _hour_and_minute(named[0], values)
    if not 0 <= hour <= 23 or not 0 <= minute <= 59:
        raise ValueError(f"there is no {hour}:{minute}")
    if part:
        return Clock(_in_part(hour, part), minute)
    return Clock(hour, minute, is_vague=1 <= hour <= 11)


def halved(pieces: Pieces, half: str) -> Pieces:
    """Return the pieces with the half of the day ("am", "pm") in which their hour is meant."""
    return {kind: {**values, "half": half} if kind in NAMED else values for kind, values in pieces.items()}


def _hour_and_minute(kind: str, values: Values) -> tuple[int, int]:
    hour = int(values.get("hour") or values.get("oclock") or values.get("hour_nth") or 0)
    if kind == "clock":
        return hour, int(values.get("minute", 0))
    minutes = int(values.get("quarter") or values.get("minutes") or 30)
    if not 1 <= hour <= 24 or not 1 <= minutes <= 59:
        raise ValueError(f"there is no {minutes} beside {hour}")
    if kind == "past":
        return hour, minutes
    # "A quarter to one" comes before one, and so does the first half of the first hour.
    before = hour - 1 if hour > 1 else 12
    return before, 60 - minutes if kind == "to" else minutes


def _in_part(hour: int, part: str) -> int:
    if hour > 12 or (hour == 0 and part not in ("morning", "night", "am")):
        return hour
    match part:
        case "am" | "morning":
            return hour % 12
        case "pm":
            return hour % 12 + 12
        case "afternoon":
            return hour + 12 if hour <= 7 else hour
        case "evening":
            return hour + 12 if 3 <= hour <= 11 else hour % 12 + (24 if hour == 12 else 0)
    return hour + 12 if 6 <= hour <= 11 else hour % 12 + (24 if hour == 12 else 0)
