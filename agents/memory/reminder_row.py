"""A reminder as a row of its table: a timer, an alarm, a reminder, or the plan of the day."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, get_args
from zoneinfo import ZoneInfo

from agents.language.schedule import Moment, Repeat

Kind = Literal["reminder", "alarm", "timer", "day"]
"""What is told: a text, that it is time to get up, that a length of time is over, or what is on that day."""
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class Reminder:
    """A reminder as it is stored. `due_ms` None: it has rung for the last time, at `rung_ms`."""

    id: int
    user: str
    thread: str
    number: int
    text: str
    lang: str
    zone: str
    rule: str | None
    start: str | None
    at_ms: int
    due_ms: int | None
    rung_ms: int | None
    added_by: str = ""
    """The id of the call that added it, which is its key."""
    kind: Kind = "reminder"

    @property
    def moment(self) -> Moment:
        """When it comes, or came, in its time zone."""
        zone = ZoneInfo(self.zone)
        at = datetime.fromtimestamp(self.at_ms / 1000, zone)
        start = datetime.fromisoformat(self.start) if self.start else at
        if self.rule is None:
            return Moment(at, begun=start if self.kind == "timer" and start < at else None)
        wall = start.replace(tzinfo=zone, fold=0)
        if wall.utcoffset() != start.utcoffset():
            wall = wall.replace(fold=1)
        return Moment(at, Repeat(self.rule, wall))

    def values(self) -> dict[str, Any]:
        """Return what is kept of it, so that it can be put back."""
        names = ("number", "text", "lang", "zone", "rule", "start", "at_ms", "due_ms", "rung_ms", "kind")
        return {name: getattr(self, name) for name in names}


def columns(moment: Moment) -> dict[str, str | int | None]:
    """Return what a row holds of a moment."""
    repeat, begun = moment.repeat, moment.begun
    return {
        "zone": str(moment.at.tzinfo),
        "rule": repeat.rule if repeat else None,
        "start": repeat.start.isoformat() if repeat else begun.isoformat() if begun else None,
        "at_ms": unix_ms(moment.at),
    }


def unix_ms(at: datetime) -> int:
    """Return an instant in Unix milliseconds."""
    return round(at.timestamp() * 1000)
