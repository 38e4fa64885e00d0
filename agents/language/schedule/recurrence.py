"""The repetition that a text names, as an RFC 5545 rule."""

from datetime import datetime, timedelta

from agents.language.schedule import STEPS, Moment, Repeat, later
from agents.language.schedule.days import Clock
from agents.language.schedule.grammar import Amount, Pieces, Values

WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
REPEAT_KINDS = {"every", "every_other", "weekly", "fortnightly", "monthly", "monthly_weekday", "daily"}
ADDED = {"weekday", "monthday", "date"}
"""Pieces that say on which day of its period a repetition comes."""
SHORTEST = 60
"""Seconds that must lie between two occurrences."""
UNITS: dict[str, Amount] = {
    "second": Amount(seconds=1),
    "minute": Amount(seconds=60),
    "hour": Amount(seconds=3600),
    "day": Amount(days=1),
    "week": Amount(days=7),
    "month": Amount(months=1),
    "year": Amount(months=12),
}


def repeated(pieces: Pieces, clock: Clock | None, now: datetime) -> Moment:
    """Return the moment of a repetition.

    Raises:
        ValueError: the pieces name none, or one that is too quick.
    """
    period = _period(pieces)
    if period.seconds:
        return _stepping(period, pieces, clock, now)
    rule = _rule(period, pieces, now)
    return first(rule, clock or Clock(), now)


def first(rule: str, clock: Clock, now: datetime) -> Moment:
    """Return the moment of a rule that goes by the calendar, from now on."""
    # Every week, month and year is looked at for the first occurrence; only from there on are some left out.
    dense = ";".join(part for part in rule.split(";") if not part.startswith("INTERVAL="))
    wall = now.replace(hour=clock.hour % 24, minute=clock.minute, second=0, microsecond=0, fold=0)
    at = Repeat(dense, wall - timedelta(days=2)).following(now)
    return Moment(at, Repeat(rule, wall.replace(year=at.year, month=at.month, day=at.day)))


def daily(moment: Moment, now: datetime) -> Moment:
    """Return a moment that comes once as one of each day; one that repeats as it is."""
    if moment.repeat is not None:
        return moment
    clock = Clock(moment.at.hour, moment.at.minute)
    return first("FREQ=DAILY;INTERVAL=1", clock, now.astimezone(moment.at.tzinfo))


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


def _stepping(period: Amount, pieces: Pieces, clock: Clock | None, now: datetime) -> Moment:
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
        nth = pieces["monthly_weekday"]
        return f"FREQ=MONTHLY;INTERVAL={months};BYDAY={int(nth['nth'])}{WEEKDAYS[int(nth['weekday']) - 1]}"
    values: Values = pieces.get("monthly") or pieces.get("monthday") or pieces.get("date") or {}
    day = int(values.get("nth") or values.get("monthday") or now.day)
    if day != -1 and not 1 <= day <= 31:
        raise ValueError(f"no month has a day {day}")
    days = _last_of(day)
    if months % 12 == 0:
        month = int(values.get("month") or values.get("month_number") or now.month)
        return f"FREQ=YEARLY;INTERVAL={months // 12};BYMONTH={month};{days}"
    if "date" in pieces:
        raise ValueError("a date belongs to years")
    return f"FREQ=MONTHLY;INTERVAL={months};{days}"


def _last_of(day: int) -> str:
    """Return the part of a rule for a day of the month, or the last day of a shorter month."""
    if day <= 28:
        return f"BYMONTHDAY={day}"
    return f"BYMONTHDAY={','.join(map(str, range(28, day + 1)))};BYSETPOS=-1"
