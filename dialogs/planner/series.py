"""Edits of a repetition. Each changes one property: the days, the end, the phase and the exceptions stay otherwise."""

import re
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

from dateutil.relativedelta import relativedelta
from dateutil.rrule import rrulestr

from agents.language.schedule import Moment, Repeat, on_the_clock, zone_of
from agents.language.schedule.calendar import WEEKDAYS, TimeOfDay, by_monthday, first
from agents.language.schedule.grammar import Values

DAY = timedelta(days=1)
DAY_FORMAT = "%Y%m%d"
DAILY = "FREQ=DAILY;INTERVAL=1"
SHORTEST_MONTH = 28


def daily(moment: Moment, now: datetime) -> Moment:
    """Return a single moment as a daily one; a repeating moment stays as it is."""
    if moment.repeat is not None:
        return moment
    clock = TimeOfDay(moment.at.hour, moment.at.minute)
    return first(DAILY, clock, now.astimezone(moment.at.tzinfo))


def on_weekday(rule: str, weekday: int) -> str:
    """Return a rule by weekdays with another weekday (Monday is 1); the last Friday becomes the last one of those."""
    place = re.search(r"BYDAY=(-?\d*)", rule)
    assert place is not None  # the caller asked
    return re.sub("BYDAY=[^;]*", f"BYDAY={place[1]}{WEEKDAYS[weekday - 1]}", rule)


def on_monthday(rule: str, values: Values) -> str:
    """Return a rule by a day of the month with another day. Raises ValueError: no month has it."""
    return re.sub("BYMONTHDAY=[^;]*(;BYSETPOS=-1)?", by_monthday(int(values.get("nth") or values["monthday"])), rule)


def without(moment: Moment, skipped: datetime, now: datetime) -> Moment | None:
    """Return a repeating moment without one of its times; None when it was the last."""
    repeat = _repeat(moment).without(skipped, now)
    following = Moment(moment.at, repeat).following(moment.at) if skipped == moment.at else moment.at
    return Moment(following, repeat) if following else None


def is_of_last_ring(rung: datetime, upcoming: datetime, now: datetime) -> bool:
    """Tell whether "I took the pills" means the last ring: it is nearer than the next one, or the only one of today."""
    today, (rung_day, next_day) = now.date(), (instant.astimezone(now.tzinfo).date() for instant in (rung, upcoming))
    return now - rung < upcoming - now or rung_day == today != next_day


def at_time(former: Moment, clock: time, now: datetime) -> Moment:
    """Return a repetition of days at another time of day. Raises OverflowError: it does not come again."""
    repeat = _repeat(former)
    start = datetime.combine(repeat.start.date(), clock, repeat.start.tzinfo)
    return _resumed(replace(repeat, rule=_with_end(repeat, _last_day(repeat)), start=start), former, now)


def in_zone(former: Moment, zone: ZoneInfo, now: datetime) -> Moment:
    """Return a repetition of days at the same time of day in another zone. Raises OverflowError: likewise."""
    repeat = _repeat(former)
    return _resumed(replace(repeat, start=repeat.start.replace(tzinfo=zone, fold=0)), former, now)


def by_days(former: Moment, days: int, now: datetime) -> Moment | None:
    """Return a repetition of days, weeks or months that comes so many days later, its end and its exceptions with it.

    None where that is the same series, or where no rule says so. Raises OverflowError: it does not come again.
    """
    repeat = _repeat(former)
    later, last = _in_other_months(repeat, days) or _in_other_weeks(repeat, days), _last_day(repeat)
    if later is None:
        return None
    skipped = frozenset(f"{datetime.fromisoformat(key) + days * DAY:{DAY_FORMAT}}" for key in repeat.skipped)
    later = replace(later, rule=_with_end(later, last + days * DAY if last else None), skipped=skipped)
    return _resumed(later, former, now, days * DAY)


def _in_other_weeks(repeat: Repeat, days: int) -> Repeat | None:
    parts, names = repeat.parts, repeat.parts.get("BYDAY", "")
    length = {"DAILY": 1, "WEEKLY": 7}.get(parts["FREQ"], 0) * int(parts.get("INTERVAL", "1"))
    is_single = length <= 7 or "," not in names
    if not length or days % length == 0 or (parts["FREQ"] == "DAILY" and names) or not is_single:
        return None
    moved = [WEEKDAYS[(WEEKDAYS.index(name) + days) % 7] for name in names.split(",") if name]
    rule = ";".join(f"{name}={','.join(moved) if name == 'BYDAY' else value}" for name, value in parts.items())
    return Repeat(rule, repeat.start + days * DAY)


def _in_other_months(repeat: Repeat, days: int) -> Repeat | None:
    """Return a repetition on another day of the month; None if not every month has both days."""
    parts, day = repeat.parts, repeat.parts.get("BYMONTHDAY", "")
    is_of_day = day.isdecimal() and parts.keys() <= {"FREQ", "INTERVAL", "BYMONTH", "BYMONTHDAY", "UNTIL"}
    if not is_of_day or not {int(day), int(day) + days} <= {*range(1, SHORTEST_MONTH + 1)}:
        return None
    rule = repeat.rule.replace(f"BYMONTHDAY={day}", f"BYMONTHDAY={int(day) + days}")
    # An interval counts the months from that of the beginning.
    return Repeat(rule, repeat.start.replace(day=int(day) + days))


def by_rule(former: Moment, new: Moment, now: datetime) -> Moment:
    """Return a repetition by the rule of `new`, with the end and the exceptions of the former one.

    On other days of the same weeks, months or years it keeps its phase too, and skipped occurrences stay skipped.

    Raises:
        OverflowError: it does not come again.
    """
    before, after = _repeat(former), _repeat(new)
    if before.is_elapsed or after.is_elapsed:
        return new
    if any(before.parts.get(name) != after.parts.get(name) for name in ("FREQ", "INTERVAL")):
        repeat = replace(after, rule=_with_end(after, _last_day(before)), skipped=before.skipped)
        return Moment(repeat.following(now), repeat)
    if _with_end(after, None) == _with_end(before, None):
        return at_time(former, after.start.time(), now)
    begin, _ = _period(before, before.start)
    moved = Repeat(after.rule, datetime.combine(begin, after.start.time(), after.start.tzinfo))
    skipped = frozenset(filter(None, (_moved_key(key, before, moved, now) for key in before.skipped)))
    repeat = replace(moved, rule=_with_end(moved, _last_moved(before)), skipped=skipped)
    return Moment(repeat.following(now), repeat)


def _repeat(moment: Moment) -> Repeat:
    assert moment.repeat is not None  # the caller asked
    return moment.repeat


def _resumed(repeat: Repeat, former: Moment, now: datetime, later: timedelta = timedelta()) -> Moment:
    """Return the moment of a repetition on the same days, or `later`; the next one keeps its day, unless it is past."""
    day = datetime.fromisoformat(_repeat(former).key_of(former.at)) + later
    begin = on_the_clock(day, zone_of(repeat.start)).astimezone(UTC)
    return Moment(repeat.following(max(now.astimezone(UTC), begin - timedelta(seconds=1))), repeat)


def _with_end(repeat: Repeat, last: datetime | None) -> str:
    """Return the rule of a repetition with a last day; another time of day does not move that day."""
    parts = [f"{name}={value}" for name, value in repeat.parts.items() if name != "UNTIL"]
    return ";".join([*parts, f"UNTIL={last:{DAY_FORMAT}}T235959"] if last else parts)


def _last_day(repeat: Repeat) -> datetime | None:
    """Return the last day of a repetition; None if it has no end."""
    if (until := repeat.parts.get("UNTIL")) is None:
        return None
    end = datetime.fromisoformat(until)
    return datetime.combine(end.date() if end.time() >= repeat.start.time() else end.date() - DAY, time())


def _last_moved(repeat: Repeat) -> datetime | None:
    """Return the end for other days: the end of the last week, month or year with an occurrence."""
    if (last := _last_day(repeat)) is None:
        return None
    begin, end = _period(repeat, last)
    return end if _days(repeat, begin, last) else begin - DAY


def _moved_key(key: str, before: Repeat, moved: Repeat, now: datetime) -> str | None:
    """Return the key of the occurrence to skip in place of a skipped one; None if there is none.

    The days that go become those that come, in their order. Where several become one, it is skipped with the last.
    """
    begin, end = _period(before, datetime.fromisoformat(key))
    here, formerly = _days(moved, begin, end), _days(before, begin, end)
    come = sorted({*here} - {*formerly})
    if key in here or not come:
        return key if key in here else None
    becomes = {day: come[min(place, len(come) - 1)] for place, day in enumerate(sorted({*formerly} - {*here}))}
    today = f"{now.astimezone(before.start.tzinfo):{DAY_FORMAT}}"
    stands = [day for day, new in becomes.items() if new == becomes.get(key) and day not in before.skipped]
    return None if any(day >= today for day in stands) else becomes.get(key)


def _days(repeat: Repeat, begin: datetime, end: datetime) -> list[str]:
    dates = rrulestr(repeat.rule, dtstart=repeat.start.replace(tzinfo=None))
    return [f"{wall:{DAY_FORMAT}}" for wall in dates.between(begin, end + DAY, inc=True) if wall < end + DAY]


def _period(repeat: Repeat, instant: datetime) -> tuple[datetime, datetime]:
    """Return the first and the last day of the week, month or year of a day, as a repetition counts."""
    day = datetime.combine(instant.date(), time())
    match repeat.parts["FREQ"]:
        case "WEEKLY":
            begin = day - day.weekday() * DAY
            return begin, begin + 6 * DAY
        case "MONTHLY":
            begin = day.replace(day=1)
            return begin, begin + relativedelta(months=1) - DAY
        case "YEARLY":
            return day.replace(month=1, day=1), day.replace(month=12, day=31)
    return day, day
