"""Reminders as an iCalendar file (RFC 5545), and the reminders of such a file."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

from dateutil.rrule import rrulestr
from icalendar import Alarm, Calendar, Component, Event, vRecur

from agents.language.schedule import Moment, Repeat, later
from agents.language.schedule.calendar import WEEKDAYS
from agents.language.text.clean import clean
from dialogs.planner.records import Reminder

LONGEST_FILE = 2_000_000
"""The most bytes of a file that is read."""
LONGEST_TEXT = 500
"""The most characters of a reminder's text."""
MOST_YEARS = 100
"""The years after which the end of a repetition counts as none."""
MORNING = 9
"""The hour of an event that has a day and no time, as in "on Friday"."""
PARTS = ("FREQ", "INTERVAL", "BYMONTH", "BYDAY", "BYMONTHDAY", "BYSETPOS")
EVERY = r"INTERVAL=[1-9]\d{0,2}"
DAY = "(MO|TU|WE|TH|FR|SA|SU)"
MONTHDAY = r"BYMONTHDAY=(-?\d+|[\d,-]+;BYSETPOS=-1)"
RULE = re.compile(
    rf"FREQ=(DAILY;{EVERY}|WEEKLY;{EVERY};BYDAY={DAY}(,{DAY})*|MONTHLY;{EVERY};(BYDAY=-?\d+{DAY}|{MONTHDAY})"
    rf"|YEARLY;{EVERY};BYMONTH=\d+;{MONTHDAY})"
)
STEPPING = re.compile(rf"FREQ=(SECONDLY;INTERVAL=([6-9]\d|\d{{3}})|(MINUTELY|HOURLY);{EVERY})")
"""The rules that a reminder can keep and word; rules of elapsed time have no end."""
Why = Literal["past", "cancelled", "exceptions", "rule", "no_time", "known", "full", "deleted"]
"""The reasons why an entry sets no reminder; `prompts/<lang>/planner/phrases.toml` has a sentence for each."""


@dataclass(frozen=True)
class CalendarEntry:
    """An entry of a calendar: its reminder, or the reason why it has none."""

    uid: str
    text: str
    moment: Moment | None = None
    starts: datetime | None = None
    """The beginning of the entry itself, if its alarm comes earlier."""
    why: Why | None = None
    reminder: Reminder | None = None
    """The reminder that was set."""


def calendar(reminders: Sequence[Reminder], user: str, now: datetime) -> str:
    """Return coming reminders as a calendar, each an event with an alarm; its lines end in CR and LF."""
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
    """Return the identifier of a reminder in calendars; it never changes."""
    return hashlib.sha256(f"{user}\n{reminder.added_by}".encode()).hexdigest()[:32] + "@dialog-supervisor"


def entries(source: bytes, zone: ZoneInfo, now: datetime) -> list[CalendarEntry]:
    """Return the entries of a calendar file; times without a zone are read in `zone`.

    Raises:
        ValueError: this is not a calendar, or it is too long.
    """
    if len(source) > LONGEST_FILE:
        raise ValueError(f"more than {LONGEST_FILE} bytes")
    files = Calendar.from_ical(source, multiple=True)
    if not files or any(file.name != "VCALENDAR" for file in files):
        raise ValueError("no VCALENDAR")
    components = [part for file in files for part in file.walk() if part.name in ("VEVENT", "VTODO")]
    changed = {str(part.get("UID", "")) for part in components if "RECURRENCE-ID" in part}
    return [_entry(part, zone, now, changed) for part in components]


def _event(reminder: Reminder, user: str, now: datetime) -> Event:
    moment, event = reminder.moment, Event()
    repeat = moment.repeat
    start = repeat.start if repeat else moment.at
    if repeat and repeat.is_elapsed:
        # A repetition by elapsed time must not jump with the clocks.
        start = start.astimezone(UTC)
    event.add("uid", uid_of(reminder, user))
    event.add("dtstamp", now.astimezone(UTC))
    event.add("summary", clean(reminder.text))
    event.add("dtstart", start)
    if repeat:
        event.add("rrule", vRecur.from_ical(repeat.rule))
    if repeat and repeat.skipped:
        event.add("exdate", [_skipped(key, start) for key in sorted(repeat.skipped)])
    alarm = Alarm()
    alarm.add("action", "DISPLAY")
    alarm.add("description", clean(reminder.text))
    alarm.add("trigger", timedelta(0))
    event.add_component(alarm)
    return event


def _entry(part: Component, zone: ZoneInfo, now: datetime, changed: set[str]) -> CalendarEntry:
    text = " ".join(clean(str(part.get("SUMMARY", ""))).split())[:LONGEST_TEXT].strip() or "…"
    change = part.get("RECURRENCE-ID")
    occurrence = change.to_ical().decode() if change else ""
    uid = f"{part.get('UID', '')} {occurrence}".strip() or hashlib.sha256(part.to_ical()).hexdigest()
    if part.get("STATUS") in ("CANCELLED", "COMPLETED") or "COMPLETED" in part:
        return CalendarEntry(uid, text, why="cancelled")
    begin = part.get("DTSTART") or part.get("DUE")
    if begin is None:
        return CalendarEntry(uid, text, why="no_time")
    try:
        start = _instant(begin.dt, zone)
        repeats = "RRULE" in part
        if repeats and ({"RDATE", "EXRULE"} & part.keys() or uid in changed):
            return CalendarEntry(uid, text, why="exceptions")
        alarm = _alarm(part, start, zone)
        if (repeats and alarm.date() != start.date()) or (not repeats and alarm <= now):
            alarm = start
        repeat = _excepting(part, Repeat(_rule(part, start), alarm), start, zone) if repeats else None
        at = repeat.following(now) if repeat else alarm
    except OverflowError:
        return CalendarEntry(uid, text, why="past")
    except (ValueError, TypeError, AttributeError, KeyError):
        return CalendarEntry(uid, text, why="rule")
    if at <= now:
        return CalendarEntry(uid, text, why="past")
    return CalendarEntry(uid, text, Moment(at, repeat), start if alarm < start else None)


def _skipped(key: str, start: datetime) -> datetime:
    """Return the instant of a skipped occurrence of a repetition that begins at `start`."""
    at = datetime.fromisoformat(key)
    return at if at.tzinfo else datetime.combine(at.date(), start.time(), start.tzinfo)


def _excepting(part: Component, repeat: Repeat, start: datetime, zone: ZoneInfo) -> Repeat:
    """Return a repetition with the exceptions of its entry; they are times of the entry, not of its alarm."""
    stated = part.get("EXDATE", [])
    instants = [
        _instant(it.dt, zone) for dates in (stated if isinstance(stated, list) else [stated]) for it in dates.dts
    ]
    if repeat.is_elapsed:
        ahead = repeat.start - start
        keys = (f"{(at.astimezone(UTC) + ahead):%Y%m%dT%H%M%SZ}" for at in instants)
    else:
        keys = (f"{at.astimezone(start.tzinfo):%Y%m%d}" for at in instants)
    return replace(repeat, skipped=frozenset(keys))


def _instant(named: date, zone: ZoneInfo) -> datetime:
    """Return the instant of a date or a time, in a zone with a name."""
    if not isinstance(named, datetime):
        return datetime(named.year, named.month, named.day, MORNING, tzinfo=zone)
    if named.tzinfo is None:
        return named.replace(tzinfo=zone)
    if isinstance(named.tzinfo, ZoneInfo) and named.tzinfo.key:
        return named
    return named.astimezone(zone)


def _alarm(part: Component, start: datetime, zone: ZoneInfo) -> datetime:
    """Return the time for an entry's ring: its first alarm before its beginning, else its beginning."""
    instants = [start]
    for alarm in part.walk("VALARM"):
        trigger = alarm.get("TRIGGER")
        value = trigger.dt if trigger is not None else None
        if isinstance(value, timedelta) and trigger.params.get("RELATED", "START") == "START":
            # A repetition keeps its place on the clock, a single time its instant.
            instants.append(start + value if "RRULE" in part else later(start, seconds=value.total_seconds()))
        elif isinstance(value, datetime) and "RRULE" not in part:
            instants.append(_instant(value, zone))
    return min(instants)


def _rule(part: Component, start: datetime) -> str:
    """Return the rule of an entry in the form of reminders; its beginning fills in missing parts.

    Raises:
        ValueError: reminders cannot keep such a rule.
        OverflowError: it has no occurrence.
    """
    stated = part["RRULE"]
    if not isinstance(stated, vRecur):
        raise ValueError("several rules, or a broken one")
    recur = vRecur({"INTERVAL": [1], **stated})
    if recur.pop("WKST", ["MO"]) != ["MO"] and recur["INTERVAL"] != [1]:
        raise ValueError("a week that begins on another day")
    until = _last(recur, start)
    frequency = recur["FREQ"][0]
    if frequency == "WEEKLY":
        recur.setdefault("BYDAY", [WEEKDAYS[start.weekday()]])
    if frequency == "YEARLY":
        recur.setdefault("BYMONTH", [start.month])
    if frequency == "YEARLY" or (frequency == "MONTHLY" and "BYDAY" not in recur):
        recur.setdefault("BYMONTHDAY", [start.day])
    texts = {name: ",".join(map(str, recur[name])).replace("+", "") for name in PARTS if name in recur}
    rule = ";".join(f"{name}={text}" for name, text in texts.items())
    if recur.keys() - texts.keys() or not (RULE.fullmatch(rule) or (STEPPING.fullmatch(rule) and not until)):
        raise ValueError("no rule of ours")
    if frequency == "YEARLY" and texts["BYMONTHDAY"].isdecimal():
        # The search for an impossible day would go on until the calendar ends. The year 2024 has every day.
        date(2024, int(texts["BYMONTH"]), int(texts["BYMONTHDAY"]))
    return f"{rule};UNTIL={until}" if until else rule


def _last(recur: vRecur, start: datetime) -> str:
    """Take COUNT and UNTIL out of a rule; return the last time on its beginning's clock, empty if there is none."""
    until, count = recur.pop("UNTIL", [None])[0], recur.pop("COUNT", [None])[0]
    if count is not None:
        counted: bytes = vRecur({**recur, "COUNT": [min(count, 1000)]}).to_ical()  # type: ignore[no-untyped-call]
        times = [*rrulestr(counted.decode(), dtstart=start.replace(tzinfo=None))]
        if not times:
            raise OverflowError("it never comes")
        return f"{times[-1]:%Y%m%dT%H%M%S}"
    if until is not None and until.year > start.year + MOST_YEARS:
        return ""
    if isinstance(until, datetime):
        return f"{until.astimezone(start.tzinfo) if until.tzinfo else until:%Y%m%dT%H%M%S}"
    return f"{until:%Y%m%d}T235959" if until else ""
