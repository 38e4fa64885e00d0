"""Moments: times of an event, once or again and again, in a person's time zone.

Wall-clock times stay the same over a change of daylight saving time. A time that the change skips moves by as much
as the clock jumps. Of a time that comes twice, the next one counts; in a repetition the first one.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from dateutil.rrule import rrulestr

STEPS = {"SECONDLY": 1, "MINUTELY": 60, "HOURLY": 3600}
"""Seconds of the frequencies that count elapsed time instead of wall-clock time."""


@dataclass(frozen=True)
class Repeat:
    """A repetition: an RFC 5545 rule ("FREQ=WEEKLY;BYDAY=MO"), the wall-clock time of its beginning, its exceptions.

    `start` may be a time that daylight saving time skips on that day: the later occurrences need it.
    """

    rule: str
    start: datetime
    skipped: frozenset[str] = frozenset()
    """The keys of the occurrences that are left out: a day ("20261130"), or for elapsed time an instant in UTC."""

    @property
    def parts(self) -> dict[str, str]:
        """The rule, part by part."""
        return dict(part.split("=", 1) for part in self.rule.split(";"))

    @property
    def is_elapsed(self) -> bool:
        """Whether it counts elapsed time instead of days."""
        return self.parts["FREQ"] in STEPS

    def following(self, after: datetime) -> datetime:
        """Return the first instant later than `after`. Raises OverflowError: it ends before, or the calendar does."""
        return next(instant for key, instant in self.occurrences(after) if key not in self.skipped)

    def key_of(self, instant: datetime) -> str:
        """Return the key under which an occurrence is skipped. Raises OverflowError: there is no occurrence then."""
        before = instant.astimezone(UTC) - timedelta(seconds=1)
        return next(key for key, _ in self.occurrences(before))

    def without(self, instant: datetime, now: datetime) -> "Repeat":
        """Return it with one more exception, and without the exceptions that are over."""
        over = f"{now.astimezone(UTC) - timedelta(days=2):%Y%m%d}"
        return replace(self, skipped=frozenset(key for key in {*self.skipped, self.key_of(instant)} if key >= over))

    def occurrences(self, after: datetime) -> Iterator[tuple[str, datetime]]:
        """Yield keys and instants of occurrences after `after`, also skipped ones. Raises OverflowError: it ends."""
        # Two times of one zone are compared by their clocks, those of two zones as instants.
        zone, after = zone_of(self.start), after.astimezone(UTC)
        if self.is_elapsed:
            yield from self._elapsed(after, zone)
        dates = rrulestr(self.rule, dtstart=self.start.replace(tzinfo=None))
        # A day back: a time that daylight saving moved may lie behind its own place on the clock.
        for wall in dates.xafter(after.astimezone(zone).replace(tzinfo=None) - timedelta(days=1)):
            if (instant := on_the_clock(wall, zone)) > after:
                yield f"{wall:%Y%m%d}", instant
        raise OverflowError(f"{self.rule} ends before it comes again")

    def _elapsed(self, after: datetime, zone: ZoneInfo) -> Iterator[tuple[str, datetime]]:
        parts, instant = self.parts, self.start.astimezone(UTC)
        step = timedelta(seconds=STEPS[parts["FREQ"]] * int(parts.get("INTERVAL", "1")))
        if after >= instant:
            instant += ((after - instant) // step + 1) * step
        while True:
            yield f"{instant:%Y%m%dT%H%M%SZ}", instant.astimezone(zone)
            instant += step


@dataclass(frozen=True)
class Moment:
    """A future instant, in the person's zone, and its repetition, if it has one."""

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


def instants(wall: datetime, zone: ZoneInfo) -> list[datetime]:
    """Return the instants at which the clocks of `zone` show a time without a zone: two where the clocks go back."""
    first = on_the_clock(wall, zone)
    second = wall.replace(tzinfo=zone, fold=1).astimezone(UTC).astimezone(zone)
    return [first, second] if second.fold else [first]


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
