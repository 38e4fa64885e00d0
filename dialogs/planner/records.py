"""A stored reminder: a timer, an alarm, a reminder, or the plan of the day."""

from dataclasses import dataclass, fields
from datetime import datetime
from typing import Literal, get_args
from zoneinfo import ZoneInfo

from agents.language.schedule import Moment, Repeat
from agents.state.speaker_state import Json
from dialogs.planner.repeat_wording import worded
from dialogs.planner.wording import said

Kind = Literal["reminder", "alarm", "timer", "day"]
"""The message of an entry: a text, the time to get up, the end of a length of time, or the plan of the day."""
KINDS: tuple[Kind, ...] = get_args(Kind)
IMPORTED = "ics-"
"""The beginning of the keys of entries from a calendar file."""
OTHERS = "others"
"""The origin of an entry whose text others may have written."""
OF_ROW = ("id", "user", "thread", "added_by", "changed_by")
"""The fields of a row that stay when a reminder is put back."""


@dataclass(frozen=True, kw_only=True)
class Reminder:
    """A row of the table. A reminder with `due_ms` None has rung for the last time, at `rung_ms`, or is deleted."""

    id: int = 0
    user: str = ""
    thread: str = ""
    added_by: str = ""
    """The id of the call that added the reminder: its key."""
    changed_by: str = ""
    """The id of the call that last changed the reminder."""
    number: int
    """The user's number for the reminder; it never changes."""
    kind: Kind = "reminder"
    text: str
    lang: str
    zone: str
    rule: str | None
    """The rule of its repetition, as in iCalendar; None if it comes once."""
    start: str | None
    """The beginning of its repetition, or the time of a timer."""
    at_ms: int
    """The time of its next ring, or of its last one. All times are in Unix milliseconds."""
    due_ms: int | None
    rung_ms: int | None = None
    skipped: str = ""
    """The exceptions of its repetition in the form of `Repeat`, joined by commas."""
    origin: str = ""
    """The origin of its text: `OTHERS`, or empty for the user's own words."""

    @property
    def moment(self) -> Moment:
        """The time of its next or last ring, in its time zone."""
        zone = ZoneInfo(self.zone)
        at = datetime.fromtimestamp(self.at_ms / 1000, zone)
        start = datetime.fromisoformat(self.start) if self.start else at
        if self.rule is None:
            return Moment(at, begun=start if self.kind == "timer" and start < at else None)
        wall = start.replace(tzinfo=zone, fold=0)
        if wall.utcoffset() != start.utcoffset():
            wall = wall.replace(fold=1)
        return Moment(at, Repeat(self.rule, wall, frozenset(filter(None, self.skipped.split(",")))))

    def values(self) -> Json:
        """Return its stored values, for undo."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name not in OF_ROW}


def name_of(reminder: Reminder, lang: str, *, hidden: bool = False) -> str:
    """Return a reminder's text, and its kind unless that is "reminder"; `hidden` leaves the text out."""
    kind = said(f"kind_{reminder.kind}", lang)
    if reminder.kind == "day" or reminder.text == said("reminder_time_is_up", reminder.lang):
        return kind
    text = "…" if hidden else reminder.text
    return text if reminder.kind == "reminder" else f"{text} ({kind})"


def described(reminder: Reminder, lang: str, now: datetime | None = None, *, hidden: bool = False) -> str:
    """Return a reminder's text and its time, as seen from `now`; `hidden` leaves the text out."""
    has_rung = f" ({said('reminder_rung', lang)})" if reminder.due_ms is None else ""
    return f"{name_of(reminder, lang, hidden=hidden)}: {worded(reminder.moment, lang, now)}{has_rung}"


def timing(moment: Moment) -> Json:
    """Return the fields of a reminder for its time."""
    repeat, begun = moment.repeat, moment.begun
    start = repeat.start if repeat else begun
    at_ms = unix_ms(moment.at)
    return {
        "zone": str(moment.at.tzinfo),
        "rule": repeat.rule if repeat else None,
        "start": start.isoformat() if start else None,
        "skipped": ",".join(sorted(repeat.skipped)) if repeat else "",
        "at_ms": at_ms,
        "due_ms": at_ms,
    }


def unix_ms(at: datetime) -> int:
    """Return an instant in Unix milliseconds."""
    return round(at.timestamp() * 1000)
