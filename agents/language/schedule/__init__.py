"""Moments: when something shall happen, once or again and again, in a person's time zone.

Wall-clock times stay the same over a change of daylight saving time. A time that the change skips moves by as much
as the clock jumps; of a time that comes twice the first is taken.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from dateutil.rrule import rrulestr

STEPS = {"SECONDLY": 1, "MINUTELY": 60, "HOURLY": 3600}
"""Seconds of the frequencies that count elapsed time instead of wall-clock time."""


@dataclass(frozen=True)
class Repeat:
    """A repetition: an RFC 5545 rule ("FREQ=WEEKLY;BYDAY=MO") and the wall-clock time of its first occurrence.

    `start` may be a time that daylight saving time skips on that day: the later occurrences need it.
    """

    rule: str
    start: datetime

    @property
    def parts(self) -> dict[str, str]:
        """The rule, part by part."""
        return dict(part.split("=", 1) for part in self.rule.split(";"))

    def following(self, after: datetime) -> datetime:
        """Return the first instant later than `after`. Raises OverflowError: the calendar ends before."""
        parts, zone = self.parts, zone_of(self.start)
        # Two times of one zone are compared by their clocks, those of two zones as instants.
        after = after.astimezone(UTC)
        if after < (begun := self.start.astimezone(UTC)):
            return begun.astimezone(zone)
        if step := STEPS.get(parts["FREQ"], 0) * int(parts.get("INTERVAL", "1")):
            elapsed = int((after - begun).total_seconds()) // step
            return (begun + timedelta(seconds=(elapsed + 1) * step)).astimezone(zone)
        dates = rrulestr(self.rule, dtstart=self.start.replace(tzinfo=None))
        # A day back: a time that daylight saving moved may lie behind its own place on the clock.
        for wall in dates.xafter(after.astimezone(zone).replace(tzinfo=None) - timedelta(days=1)):
            if (instant := on_the_clock(wall, zone)) > after:
                return instant
        raise OverflowError(f"{self.rule} ends before it comes again")


@dataclass(frozen=True)
class Moment:
    """An instant to come, in the person's zone, and how it repeats, if it does."""

    at: datetime
    repeat: Repeat | None = None
    begun: datetime | None = field(default=None, compare=False)
    """The instant from which a length of time was counted ("10 minutes"); None for a time on the clock."""

    def following(self, after: datetime) -> datetime | None:
        """Return the first instant later than `after`; None when it was the last."""
        if self.repeat is not None:
            try:
                return self.repeat.following(after)
            except OverflowError:
                return None
        return self.at if self.at > after.astimezone(UTC) else None


def on_the_clock(wall: datetime, zone: ZoneInfo) -> datetime:
    """Return the instant at which the clocks of `zone` show `wall`, a time without a zone."""
    return wall.replace(tzinfo=zone, fold=0).astimezone(UTC).astimezone(zone)


def later(instant: datetime, *, seconds: float) -> datetime:
    """Return the instant that lies `seconds` of real time later, in the same zone."""
    return (instant.astimezone(UTC) + timedelta(seconds=seconds)).astimezone(instant.tzinfo)


def zone_of(instant: datetime) -> ZoneInfo:
    """Return the time zone of an instant that has one by name."""
    assert isinstance(instant.tzinfo, ZoneInfo)
    return instant.tzinfo
