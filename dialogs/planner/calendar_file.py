"""Reminders as an iCalendar file (RFC 5545), and the reminders that such a file asks for."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

from dateutil.rrule import rrulestr
from icalendar import Alarm, Calendar, Component, Event, vRecur

from agents.language.schedule import STEPS, Moment, Repeat
from agents.language.schedule.recurrence import SHORTEST, WEEKDAYS
from agents.language.text.clean import clean
from dialogs.planner.reminder import Reminder

LONGEST = 2_000_000
"""Bytes of a file that is read."""
TEXT = 500
"""Characters of a reminder's text."""
MOST_APART = 1000
"""Periods between two occurrences."""
MORNING = 9
"""The hour of what has a day and no time, as in "on Friday"."""
OURS = "@dialog-supervisor"
PARTS = {"DAILY": set(), "WEEKLY": {"BYDAY"}, "MONTHLY": {"BYDAY", "BYMONTHDAY", "BYSETPOS"}} | {
    "YEARLY": {"BYMONTH", "BYMONTHDAY", "BYSETPOS"},
    **{frequency: set[str]() for frequency in STEPS},
}
"""By frequency, what else a rule may say, so that a reminder can keep it and word it."""
Why = Literal["past", "cancelled", "exceptions", "rule", "zone", "no_time"]


@dataclass(frozen=True)
class Found:
    """An entry of a calendar: the reminder it asks for, or why there is none."""

    uid: str
    text: str
    moment: Moment | None = None
    starts: datetime | None = None
    """When the entry itself begins, if its alarm comes earlier."""
    why: Why | None = None


def calendar(reminders: Sequence[Reminder], user: str, now: datetime) -> str:
    """Return reminders that are to come as a calendar, each an event with an alarm; its lines end in CR and LF."""
    file = Calendar()
    file.add("prodid", "-//Dialog Supervisor//EN")
    file.add("version", "2.0")
    for reminder in reminders:
        if reminder.due_ms is not None:
            file.add_component(_event(reminder, user, now))
    file.add_missing_timezones()
    source: bytes = file.to_ical()
    return source.decode("utf-8")


def uid_of(reminder: Reminder, user: str) -> str:
    """Return the identifier of a reminder in calendars; the same as long as it is there."""
    return hashlib.sha256(f"{user}\n{reminder.added_by}".encode()).hexdigest()[:32] + OURS


def entries(source: bytes, zone: ZoneInfo, now: datetime) -> list[Found]:
    """Return the entries of a calendar file; what has no zone of its own is read in `zone`.

    Raises:
        ValueError: this is no calendar, or it is too long.
    """
    if len(source) > LONGEST:
        raise ValueError(f"more than {LONGEST} bytes")
    files = Calendar.from_ical(source, multiple=True)
    if not files or any(file.name != "VCALENDAR" for file in files):
        raise ValueError("no VCALENDAR")
    components = [part for file in files for part in _tasks(file)]
    changed = {str(part.get("UID", "")) for part in components if "RECURRENCE-ID" in part}
    return [_found(part, zone, now, changed) for part in components]


def _tasks(file: Component) -> Iterator[Component]:
    for part in file.walk():
        if part.name in ("VEVENT", "VTODO"):
            yield part


def _event(reminder: Reminder, user: str, now: datetime) -> Event:
    moment, event = reminder.moment, Event()
    repeat = moment.repeat
    start = repeat.start if repeat else moment.at
    if repeat and repeat.parts["FREQ"] in STEPS:
        # What goes by elapsed time must not jump with the clocks.
        start = start.astimezone(UTC)
    event.add("uid", uid_of(reminder, user))
    event.add("dtstamp", now.astimezone(UTC))
    event.add("summary", clean(reminder.text))
    event.add("dtstart", start)
    if repeat:
        event.add("rrule", vRecur.from_ical(repeat.rule))
    alarm = Alarm()
    alarm.add("action", "DISPLAY")
    alarm.add("description", clean(reminder.text))
    alarm.add("trigger", timedelta(0))
    event.add_component(alarm)
    return event


def _found(part: Component, zone: ZoneInfo, now: datetime, changed: set[str]) -> Found:
    text = " ".join(clean(str(part.get("SUMMARY", ""))).split())[:TEXT].strip() or "…"
    uid = f"{part.get('UID', '')} {_plain(part, 'RECURRENCE-ID')}".strip() or hashlib.sha256(part.to_ical()).hexdigest()
    if part.get("STATUS") in ("CANCELLED", "COMPLETED") or "COMPLETED" in part:
        return Found(uid, text, why="cancelled")
    named = part.get("DTSTART") or part.get("DUE")
    if named is None:
        return Found(uid, text, why="no_time")
    try:
        start = _instant(named.dt, zone)
        repeats = "RRULE" in part
        if repeats and ({"EXDATE", "RDATE", "EXRULE"} & part.keys() or uid in changed):
            return Found(uid, text, why="exceptions")
        if repeats and _is_foreign(named.dt):
            return Found(uid, text, why="zone")
        alarm = _alarm(part, start, zone)
        if (repeats and alarm.date() != start.date()) or (not repeats and alarm <= now):
            alarm = start
        repeat = Repeat(_rule(part, start), alarm) if repeats else None
        at = repeat.following(now) if repeat else alarm
    except OverflowError:
        return Found(uid, text, why="past")
    except (ValueError, TypeError, AttributeError, KeyError):
        return Found(uid, text, why="rule")
    if at <= now:
        return Found(uid, text, why="past")
    return Found(uid, text, Moment(at, repeat), start if alarm < start else None)


def _instant(named: date, zone: ZoneInfo) -> datetime:
    """Return the instant of a date, a time on the clock or an instant, in a zone that has a name."""
    if not isinstance(named, datetime):
        return datetime(named.year, named.month, named.day, MORNING, tzinfo=zone)
    if named.tzinfo is None:
        return named.replace(tzinfo=zone)
    if isinstance(named.tzinfo, ZoneInfo) and named.tzinfo.key:
        return named
    return named.astimezone(zone)


def _is_foreign(named: date) -> bool:
    """Tell whether a time has a zone that only its file knows, so that its clocks' changes are not ours."""
    zone = named.tzinfo if isinstance(named, datetime) else None
    return zone is not None and not isinstance(zone, ZoneInfo)


def _alarm(part: Component, start: datetime, zone: ZoneInfo) -> datetime:
    """Return when an entry wants to be told: at its first alarm before its beginning, else at its beginning."""
    instants = [start]
    for alarm in part.walk("VALARM"):
        trigger = alarm.get("TRIGGER")
        value = trigger.dt if trigger is not None else None
        if isinstance(value, timedelta) and trigger.params.get("RELATED", "START") == "START":
            instants.append(start + value)
        elif isinstance(value, datetime) and "RRULE" not in part:
            instants.append(_instant(value, zone))
    return min(instants)


def _rule(part: Component, start: datetime) -> str:
    """Return the rule of an entry as reminders have it.

    Raises:
        ValueError: reminders cannot keep such a rule.
        OverflowError: it has no occurrence.
    """
    pairs = [entry.partition("=") for entry in _plain(part, "RRULE").upper().split(";")]
    parts = {name: value for name, _, value in pairs}
    last = _last(parts, start)
    frequency = parts.pop("FREQ")
    interval = int(parts.pop("INTERVAL", "1"))
    if not 1 <= interval <= MOST_APART or (parts.pop("WKST", "MO") != "MO" and interval > 1):
        raise ValueError("no period of ours, or a week that begins on another day")
    if frequency not in PARTS or parts.keys() - PARTS[frequency]:
        raise ValueError("no rule of ours")
    if frequency in STEPS and (interval * STEPS[frequency] < SHORTEST or last):
        raise ValueError("too quick, or it ends")
    days = [day.lstrip("+") for day in parts.get("BYDAY", "").split(",") if day]
    place = days[0][: -len("MO")] if days and frequency == "MONTHLY" else ""
    if any(day.removeprefix(place) not in WEEKDAYS for day in days) or len(days) > (1 if place else 7):
        raise ValueError("no days of ours")
    rule = {"FREQ": frequency, "INTERVAL": str(interval), **_days(frequency, parts, days, start)}
    return ";".join(f"{name}={value}" for name, value in {**rule, **last}.items())


def _plain(part: Component, name: str) -> str:
    """Return a property as it stands in the file; empty if there is none.

    Raises:
        ValueError: it stands there more than once.
    """
    value = part.get(name)
    if value is None:
        return ""
    if isinstance(value, list):
        raise ValueError(f"{name} more than once")
    written: bytes = value.to_ical()
    return written.decode("utf-8")


def _days(frequency: str, parts: Mapping[str, str], days: Sequence[str], start: datetime) -> dict[str, str]:
    """Return on which days of its period a rule comes; what it does not say stands in its beginning."""
    if frequency == "WEEKLY":
        return {"BYDAY": ",".join(days) or WEEKDAYS[start.weekday()]}
    if frequency == "MONTHLY" and days:
        if "BYMONTHDAY" in parts or "BYSETPOS" in parts or not days[0][:-2]:
            raise ValueError("a weekday of the month needs its place, and nothing else")
        return {"BYDAY": days[0]}
    if frequency in ("MONTHLY", "YEARLY"):
        named = parts.get("BYMONTHDAY", str(start.day))
        month = {"BYMONTH": str(int(parts.get("BYMONTH", start.month)))} if frequency == "YEARLY" else {}
        if "," in named and parts.get("BYSETPOS") != "-1":
            raise ValueError("several days of a month")
        if month and "," not in named and named != "-1":
            # A day that never comes would be looked for until the calendar ends; 2024 has all there are.
            date(2024, int(month["BYMONTH"]), int(named))
        return {**month, "BYMONTHDAY": named, **({"BYSETPOS": "-1"} if "BYSETPOS" in parts else {})}
    return {}


def _last(parts: dict[str, str], start: datetime) -> dict[str, str]:
    """Take COUNT and UNTIL out of a rule; return the end as UNTIL, on the clock of the beginning."""
    until, count = parts.pop("UNTIL", None), parts.pop("COUNT", None)
    if count is not None:
        wall = start.replace(tzinfo=None)
        rule = ";".join(f"{name}={value}" for name, value in parts.items())
        ends = [*rrulestr(f"{rule};COUNT={min(int(count), 1000)}", dtstart=wall)][-1:]
        if not ends:
            raise OverflowError("it never comes")
        return {"UNTIL": f"{ends[0]:%Y%m%dT%H%M%S}"}
    if until is None:
        return {}
    if until.endswith("Z"):
        instant = datetime.strptime(until, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
        return {"UNTIL": f"{instant.astimezone(start.tzinfo):%Y%m%dT%H%M%S}"}
    return {"UNTIL": until if "T" in until else f"{until}T235959"}
