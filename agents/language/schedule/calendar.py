"""The days, the times of day and the repetitions that pieces of a text may mean."""

from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from dateutil.relativedelta import relativedelta

from agents.language.schedule import STEPS, Moment, Repeat, instants, later
from agents.language.schedule.grammar import UNITS, Amount, Pieces, Values

DAY_KINDS = ("day", "next_weekday", "next", "monthday", "date", "nth_weekday", "weekday")
"""The kinds of pieces that name a day; a weekday may stand beside another kind."""
A_LEAP_YEAR = date(2000, 1, 1)
FAR = 24  # Months, and years, within which a day must come.
PARTS = {"morning": 9, "afternoon": 15, "evening": 19, "tonight": 19, "night": 22}
"""The hours of the parts of the day when a text names no hour."""
MORNING = PARTS["morning"]
NAMED = ("clock", "past", "to", "into")
TIME_KINDS = {*NAMED, "part", "daily"}
WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
REPEAT_KINDS = {"every", "every_other", "weekly", "fortnightly", "monthly", "monthly_weekday", "daily"}
ADDED = {"weekday", "monthday", "date"}  # Pieces that name the day of a repetition within its period.
SHORTEST = 60  # Seconds that must lie between two occurrences.


def days_of(kind: str, values: Values, today: date) -> Iterator[date]:
    """Yield the days that a piece may mean, from `today` on; nothing if there is no such day."""
    match kind:
        case "day":
            yield today + timedelta(days=int(values["day"]))
        case "weekday" | "next_weekday":
            ahead = int(values["weekday"]) - today.isoweekday()
            for days in (ahead + 7,) if kind == "next_weekday" else (ahead % 7, ahead % 7 + 7):
                yield today + timedelta(days=days)
        case "next":
            yield _next(values.get("unit", "week"), today)
        case "monthday":
            months = (after(today.replace(day=1), Amount(months=ahead)) for ahead in range(FAR))
            day = int(values.get("nth") or values["monthday"])
            yield from (dated for month in months if (dated := _day_of(month, day)) and dated >= today)
        case "nth_weekday":
            months = (after(today.replace(day=1), Amount(months=ahead)) for ahead in range(FAR))
            nth, weekday = int(values["nth"]), int(values["weekday"])
            yield from (dated for month in months if (dated := _nth_of(month, nth, weekday)) and dated >= today)
        case "date":
            years = [int(values["year"])] if "year" in values else range(today.year, today.year + FAR)
            month, day = int(values.get("month") or values["month_number"]), int(values["monthday"])
            dates = (_day_of(date(year, month, 1), day) for year in years)
            yield from (dated for dated in dates if dated and dated >= today)


def exists(kind: str, values: Values) -> bool:
    """Tell whether any year has such a day: no 31 February, no 42nd."""
    return any(True for _ in days_of(kind, values, A_LEAP_YEAR))


def after(day: date, amount: Amount) -> date:
    """Return the day so many months and days later; in a shorter month its last day."""
    return day + relativedelta(months=amount.months, days=amount.days)


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


def _nth_of(month: date, nth: int, weekday: int) -> date | None:
    """Return the nth weekday of a month, or the last one for -1; None if it has none."""
    days = [month + timedelta(days=ahead) for ahead in range(monthrange(month.year, month.month)[1])]
    named = [day for day in days if day.isoweekday() == weekday]
    return named[-1] if nth == -1 else named[nth - 1] if 1 <= nth <= len(named) else None


@dataclass(frozen=True)
class TimeOfDay:
    """A time of day. Hour 24 is midnight at the day's end."""

    hour: int = MORNING
    minute: int = 0
    is_vague: bool = False  # Whether the hour may also mean one twelve hours later.

    @property
    def clock(self) -> time:
        """The time on a clock."""
        return time(self.hour % 24, self.minute)

    def on(self, day: date, zone: ZoneInfo, after: datetime | None = None) -> datetime:
        """Return the instant on a day; of a time that comes twice the first, or the first one later than `after`."""
        wall = datetime.combine(day, time()) + timedelta(hours=self.hour, minutes=self.minute)
        first, *second = instants(wall, zone)
        is_past = after is not None and first <= after.astimezone(UTC)
        return second[0] if second and is_past else first


def clock_of(pieces: Pieces) -> TimeOfDay | None:
    """Return the time of day that the pieces name; None without one. Raises ValueError: there is no such time."""
    daily = pieces.get("daily", {})
    part = pieces.get("part", {}).get("part") or daily.get("part") or daily.get("parts")
    named = [kind for kind in NAMED if kind in pieces]
    if len(named) > 1 or ("part" in pieces and daily.keys() & {"part", "parts"}):
        raise ValueError("two times of day")
    if not named:
        return TimeOfDay(PARTS[part]) if part else None
    values = pieces[named[0]]
    if "named" in values:
        return TimeOfDay(int(values["named"]))
    part = values.get("half") or values.get("part") or part
    hour, minute = _hour_and_minute(named[0], values)
    if not 0 <= hour <= 23 or not 0 <= minute <= 59:
        raise ValueError(f"there is no {hour}:{minute}")
    if part:
        return TimeOfDay(_in_part(hour, part), minute)
    return TimeOfDay(hour, minute, is_vague=1 <= hour <= 11)


def halved(pieces: Pieces, half: str) -> Pieces:
    """Return the pieces with a half of the day ("am", "pm") for their hour."""
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
        case "evening" | "tonight":
            return hour + 12 if 3 <= hour <= 11 else hour % 12 + (24 if hour == 12 else 0)
    return hour + 12 if 6 <= hour <= 11 else hour % 12 + (24 if hour == 12 else 0)


def repeated(pieces: Pieces, clock: TimeOfDay | None, now: datetime) -> Moment:
    """Return the moment of a repetition. Raises ValueError: the pieces name none, or a too frequent one."""
    period = _period(pieces)
    if period == Amount():
        raise ValueError("no time passes")
    if period.seconds:
        return _stepping(period, pieces, clock, now)
    rule = _rule(period, pieces, now)
    return first(rule, clock or TimeOfDay(), now)


def first(rule: str, clock: TimeOfDay, now: datetime) -> Moment:
    """Return the moment of a rule that goes by the calendar, from now on."""
    # The first occurrence may be in any week, month or year; only the later ones skip some.
    dense = ";".join(part for part in rule.split(";") if not part.startswith("INTERVAL="))
    wall = datetime.combine(now.date(), clock.clock, now.tzinfo)
    at = Repeat(dense, wall - timedelta(days=2)).following(now)
    return Moment(at, Repeat(rule, wall.replace(year=at.year, month=at.month, day=at.day)))


def _period(pieces: Pieces) -> Amount:
    if "every" in pieces:
        values = pieces["every"]
        return values.get("amount") or UNITS[values.get("unit") or values["adverb"]]
    if "every_other" in pieces:
        return UNITS[pieces["every_other"]["unit"]].times(2)
    if "fortnightly" in pieces:
        return Amount(days=14)
    if "weekly" in pieces:
        return Amount(days=7)
    return Amount(days=1) if "daily" in pieces else Amount(months=1)


def _stepping(period: Amount, pieces: Pieces, clock: TimeOfDay | None, now: datetime) -> Moment:
    seconds = period.seconds + period.days * 86_400
    if seconds < SHORTEST or seconds % 1 or period.months or ADDED & pieces.keys():
        raise ValueError("no period that can be kept")
    at = later(now, seconds=seconds)
    if clock is not None:
        at = first("FREQ=DAILY", clock, now).at
    frequency = next(name for name, step in reversed(STEPS.items()) if seconds % step == 0)
    return Moment(at, Repeat(f"FREQ={frequency};INTERVAL={int(seconds) // STEPS[frequency]}", at))


def _rule(period: Amount, pieces: Pieces, now: datetime) -> str:
    if period.months and period.days:
        raise ValueError("months and days cannot be counted together")
    if period.months:
        return _monthly(period.months, pieces, now)
    weekly = {**pieces.get("weekly", {}), **pieces.get("fortnightly", {})}
    days: list[int] = next((weekly[name] for name in ("weekday_list", "weekdays_list", "dayset") if name in weekly), [])
    if days and "weekday" in pieces:
        raise ValueError("two lists of days")
    if "weekday" in pieces:
        days = [int(pieces["weekday"]["weekday"])]
    if "monthday" in pieces or "date" in pieces or (days and "every" in pieces and period.days % 7):
        raise ValueError("that day does not belong to that period")
    if days or period.days % 7 == 0:
        listed = ",".join(WEEKDAYS[day - 1] for day in sorted(set(days)) or [now.isoweekday()])
        return f"FREQ=WEEKLY;INTERVAL={max(1, period.days // 7)};BYDAY={listed}"
    return f"FREQ=DAILY;INTERVAL={period.days}"


def _monthly(months: int, pieces: Pieces, now: datetime) -> str:
    if "weekly" in pieces or "fortnightly" in pieces or "weekday" in pieces:
        raise ValueError("a weekday belongs to weeks")
    if "monthly_weekday" in pieces:
        nth, weekday = int(pieces["monthly_weekday"]["nth"]), int(pieces["monthly_weekday"]["weekday"])
        if nth not in (-1, 1, 2, 3, 4, 5):
            raise ValueError(f"no month has {nth} of a weekday")
        return f"FREQ=MONTHLY;INTERVAL={months};BYDAY={nth}{WEEKDAYS[weekday - 1]}"
    values: Values = pieces.get("monthly") or pieces.get("monthday") or pieces.get("date") or {}
    day = int(values.get("nth") or values.get("monthday") or now.day)
    days = by_monthday(day)
    if months % 12 == 0:
        month = int(values.get("month") or values.get("month_number") or now.month)
        if "date" in pieces and not exists("date", values):
            raise ValueError("no year has that day")
        return f"FREQ=YEARLY;INTERVAL={months // 12};BYMONTH={month};{days}"
    if "date" in pieces:
        raise ValueError("a date belongs to years")
    return f"FREQ=MONTHLY;INTERVAL={months};{days}"


def by_monthday(day: int) -> str:
    """Return the part of a rule for a day of the month, or the last day of a shorter month. Raises ValueError: none."""
    if day != -1 and not 1 <= day <= 31:
        raise ValueError(f"no month has a day {day}")
    if day <= 28:
        return f"BYMONTHDAY={day}"
    return f"BYMONTHDAY={','.join(map(str, range(28, day + 1)))};BYSETPOS=-1"
