"""Read moments out of what people say: "in 20 minutes", "завтра в 9", "every Monday at 9"."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from agents.language.schedule import Moment, later, on_the_clock, recurrence
from agents.language.schedule.days import KINDS as DAYS
from agents.language.schedule.days import after, days_of
from agents.language.schedule.grammar import read
from agents.language.schedule.lexicon import Amount, Pieces, Values
from agents.language.schedule.time_of_day import KINDS as TIMES
from agents.language.schedule.time_of_day import Clock, clock_of, halved

EARLY = range(1, 6)
"""Hours at which people do things in the afternoon, unless they say otherwise."""


def moment(text: str, lang: str, now: datetime, zone: ZoneInfo, *, by_day: bool = False) -> Moment | None:
    """Return the moment that `text` names and nothing else; None when it names none, or one that is past.

    A time of day without a day is the next one, a day without a time is meant at nine in the morning. `by_day` is for
    what nobody does at night: "at 5" is in the afternoon.
    """
    if (at := instant(text, zone)) is not None:
        return Moment(at) if at > now.astimezone(UTC) else None
    reading = read(text, lang)
    if reading is None or reading.rest:
        return None
    return meant(in_daytime(reading.pieces) if by_day else reading.pieces, now.astimezone(zone), zone)


def in_daytime(pieces: Pieces) -> Pieces:
    """Return the pieces with an hour such as "5" in the afternoon."""
    try:
        clock = clock_of(pieces)
    except ValueError:
        return pieces
    return halved(pieces, "pm") if clock and clock.is_vague and clock.hour in EARLY else pieces


def meant(pieces: Pieces, now: datetime, zone: ZoneInfo) -> Moment | None:
    """Return the moment that pieces of a text name together; None when they do not fit each other."""
    try:
        clock = clock_of(pieces)
        days = [kind for kind in DAYS if kind in pieces]
        others = pieces.keys() - TIMES - set(days)
        if (named := others & recurrence.KINDS | pieces.keys() & {"daily"}) and others <= named | {"weekly"}:
            fits = len(named) == 1 or named == {"every", "weekly"}
            return recurrence.repeated(pieces, clock, now) if fits and set(days) <= recurrence.ADDED else None
        if others in ({"after"}, {"length"}) and not days:
            return _after(amount_of(pieces[others.pop()]), clock, now, zone)
        if others or len(days) > 2 or (len(days) == 2 and days[1] != "weekday") or (clock is None and not days):
            return None
        return _once(pieces, days, clock, now, zone)
    except (ValueError, OverflowError):
        return None


def amount_of(values: Values) -> Amount:
    """Return the length of time that a piece names, in either direction."""
    amount: Amount = values.get("amount") or recurrence.UNITS[values["unit"]]
    return amount.times(int(values.get("direction", 1)))


def _after(amount: Amount, clock: Clock | None, now: datetime, zone: ZoneInfo) -> Moment | None:
    by_clock = amount.months or amount.days
    if clock is not None and (amount.seconds or not by_clock):
        return None
    if not by_clock:
        return Moment(later(now, seconds=amount.seconds), begun=now) if amount.seconds else None
    day = after(now.date(), amount)
    at = clock.on(day, zone) if clock else on_the_clock(datetime.combine(day, now.time()), zone)
    return Moment(later(at, seconds=amount.seconds))


def _once(pieces: Pieces, days: list[str], clock: Clock | None, now: datetime, zone: ZoneInfo) -> Moment | None:
    time, today = clock or Clock(), now.date()
    if not days:
        candidates = [time.on(after(today, Amount(days=ahead)), zone) for ahead in range(2)]
    else:
        candidates = [time.on(day, zone) for day in days_of(days[0], pieces[days[0]], today)]
    if time.is_vague and days == ["day"]:
        # "Today at eight", said at ten, is in the evening.
        candidates += [time.afternoon().on(day, zone) for day in days_of("day", pieces["day"], today)]
    if len(days) == 2:
        # "Friday the 13th" is a 13th that is a Friday.
        candidates = [at for at in candidates if at.isoweekday() == int(pieces["weekday"]["weekday"])]
    return next((Moment(at) for at in candidates if at > now.astimezone(UTC)), None)


def instant(text: str, zone: ZoneInfo) -> datetime | None:
    """Read a date with a time as machines write them; one without a zone is in the person's."""
    text = text.strip()
    if len(text) < len("2026-01-01T00:00") or not text[:4].isdigit():
        return None
    try:
        at = datetime.fromisoformat(text)
        return at.astimezone(zone) if at.tzinfo else on_the_clock(at, zone)
    except (ValueError, OverflowError):
        return None
