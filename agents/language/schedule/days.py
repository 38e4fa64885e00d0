"""The days that a text may mean, the nearest first."""

from calendar import monthrange
from collections.abc import Iterator
from datetime import date, timedelta

from agents.language.schedule.lexicon import Amount, Values

KINDS = ("day", "next_weekday", "next", "monthday", "date", "weekday")
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
    """Return the first day of the next week, month or year."""
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
