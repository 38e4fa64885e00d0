"""Read moments out of what people say: "in 20 minutes", "завтра в 9", "every Monday at 9".

A whole day may be told in one sentence: "dentist at 10, groceries, pick up the kids at 3:30". `Problem` says why words
name no time to come.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal
from zoneinfo import ZoneInfo

from agents.language.schedule import Moment, later, on_the_clock, recurrence
from agents.language.schedule.days import DAY_KINDS, TIME_KINDS, Clock, after, clock_of, days_of, exists, halved
from agents.language.schedule.grammar import Amount, Pieces, Values, pieces_in, read, separator
from agents.language.schedule.recurrence import REPEAT_KINDS

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
        days = [kind for kind in DAY_KINDS if kind in pieces]
        others = pieces.keys() - TIME_KINDS - set(days)
        if (named := others & recurrence.REPEAT_KINDS | pieces.keys() & {"daily"}) and others <= named | {"weekly"}:
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


@dataclass(frozen=True)
class Problem:
    """The reason, and of a time that is past the instant that it names."""

    reason: Literal["past", "no_day", "no_hour", "several", "unclear"]
    at: datetime | None = None


def problem(text: str, lang: str, now: datetime, zone: ZoneInfo) -> Problem:
    """Return why `text` is no time to come, for words that `moment` has not understood."""
    if (at := instant(text, zone)) is not None:
        return Problem("past", at)
    reading = read(text, lang)
    if reading is not None and not reading.rest:
        return problem_of(reading.pieces, now, zone)
    parts = [read(part, lang) for part in separator(lang).split(text)]
    is_several = len(parts) > 1 and all(part is not None and not part.rest for part in parts)
    return Problem("several" if is_several else "unclear")


def problem_of(pieces: Pieces, now: datetime, zone: ZoneInfo) -> Problem:
    """Return why pieces of a text name no time to come together."""
    now = now.astimezone(zone)
    try:
        clock = clock_of(pieces)
    except ValueError:
        return Problem("no_hour")
    days = [kind for kind in DAY_KINDS if kind in pieces]
    if len(days) != 1:
        return Problem("unclear")
    kind, values = days[0], pieces[days[0]]
    if not exists(kind, values):
        return Problem("no_day")
    try:
        coming = [(clock or Clock()).on(day, zone) for day in days_of(kind, values, now.date())]
    except (ValueError, OverflowError):
        return Problem("unclear")
    if all(at <= now.astimezone(UTC) for at in coming):
        return Problem("past", max(coming, default=None))
    return Problem("unclear")


EVENING = range(6, 9)
"""Hours that mean the evening once the morning is over."""


@dataclass(frozen=True)
class Item:
    """Something to do, and when, if a time was named; or why it cannot be noted."""

    text: str
    moment: Moment | None = None
    problem: Problem | None = None


def items(text: str, lang: str, now: datetime, zone: ZoneInfo) -> list[Item]:
    """Return what a sentence tells of a day; a time without a day is meant today, or on the day before a colon."""
    head, colon, tail = text.partition(": ")
    named = read(head, lang) if colon else None
    is_headed = named is not None and not named.rest and named.pieces.keys() <= set(DAY_KINDS)
    day = dict(named.pieces) if named is not None and is_headed else {"day": {"day": "0"}}
    parts = (part.strip(" .;!") for part in separator(lang).split(tail if is_headed else text))
    return [_item(part, lang, day, now.astimezone(zone), zone) for part in parts if part]


def _item(part: str, lang: str, day: Pieces, now: datetime, zone: ZoneInfo) -> Item:
    reading = read(part, lang)
    if reading is None:
        return Item(part, problem=Problem("unclear") if pieces_in(part, lang) else None)
    pieces = dict(reading.pieces)
    if pieces.keys() <= TIME_KINDS - {"daily"}:
        pieces |= day
    if not pieces.keys() & ({*TIME_KINDS, *DAY_KINDS, "after"} | REPEAT_KINDS):
        # "Walk 20 minutes" is no time.
        return Item(part)
    tries = [moment for variant in _halves(pieces) if (moment := meant(variant, now, zone))]
    problem = None if tries else problem_of(_halves(pieces)[0], now, zone)
    if not reading.rest:
        problem = Problem("unclear")
    return Item(part if problem else reading.rest, tries[0] if tries else None, problem)


def _halves(pieces: Pieces) -> list[Pieces]:
    """Return the pieces with an hour such as "10" in the morning, one such as "3" or a past "7" in the afternoon."""
    try:
        clock = clock_of(pieces)
    except ValueError:
        return [pieces]
    if clock is None or not clock.is_vague:
        return [pieces]
    halves = ["pm"] if clock.hour in EARLY else ["am", "pm"] if clock.hour in EVENING else ["am"]
    return [halved(pieces, half) for half in halves]
