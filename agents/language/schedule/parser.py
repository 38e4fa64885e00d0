"""Read moments in people's words: "in 20 minutes", "завтра в 9", "every Monday at 9".

`Problem` is the reason why words name no coming moment.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal
from zoneinfo import ZoneInfo

from agents.language.schedule import Moment, calendar, later, on_the_clock
from agents.language.schedule.calendar import TimeOfDay
from agents.language.schedule.grammar import UNITS, Amount, Pieces, Values, only_pieces, separator

EARLY = range(1, 6)  # Hours that mean the afternoon unless somebody says otherwise.
NOON = 12


def moment(text: str, lang: str, now: datetime, zone: ZoneInfo, *, by_day: bool = False) -> Moment | None:
    """Return the moment if `text` names one and says nothing else; None if it names none, or a past one.

    A time of day without a day is the next one, a day without a time is nine in the morning. With `by_day`
    no hour is in the night: "at 5" is in the afternoon.
    """
    if (at := instant(text, zone)) is not None:
        return Moment(at) if at > now.astimezone(UTC) else None
    pieces = only_pieces(text, lang)
    if by_day and vague_hour(pieces) in EARLY:
        pieces = calendar.halved(pieces, "pm")
    return meant(pieces, now.astimezone(zone), zone) if pieces else None


def vague_hour(pieces: Pieces) -> int | None:
    """Return an hour that may be before or after noon; None if the pieces name none."""
    try:
        clock = calendar.clock_of(pieces)
    except ValueError:
        return None
    return clock.hour if clock and clock.is_vague else None


def meant(pieces: Pieces, now: datetime, zone: ZoneInfo) -> Moment | None:
    """Return the moment that the pieces of a text name together; None if they do not fit each other."""
    try:
        clock = calendar.clock_of(pieces)
        pieces = _with_today(pieces, clock)
        days = [kind for kind in calendar.DAY_KINDS if kind in pieces]
        others = pieces.keys() - calendar.TIME_KINDS - set(days)
        if (named := others & calendar.REPEAT_KINDS | pieces.keys() & {"daily"}) and others <= named | {"weekly"}:
            fits = len(named) == 1 or named == {"every", "weekly"}
            return calendar.repeated(pieces, clock, now) if fits and set(days) <= calendar.ADDED else None
        if others in ({"after"}, {"length"}) and not days:
            return _after(amount_of(pieces[others.pop()]), clock, now, zone)
        if others or len(days) > 2 or (len(days) == 2 and days[1] != "weekday") or (clock is None and not days):
            return None
        return _once(pieces, days, clock, now, zone)
    except (ValueError, OverflowError):
        return None


def _with_today(pieces: Pieces, clock: TimeOfDay | None) -> Pieces:
    """Return the pieces with today for "tonight"; an hour after midnight is of the next day."""
    is_tonight = pieces.get("part", {}).get("part") == "tonight" and clock is not None and clock.hour >= NOON
    return {"day": {"day": "0"}, **pieces} if is_tonight else pieces


def amount_of(values: Values) -> Amount:
    """Return the length of time in a piece; a past one is negative."""
    amount: Amount = values.get("amount") or UNITS[values["unit"]]
    return amount.times(int(values.get("direction", 1)))


def _after(amount: Amount, clock: TimeOfDay | None, now: datetime, zone: ZoneInfo) -> Moment | None:
    by_clock = amount.months or amount.days
    if clock is not None and (amount.seconds or not by_clock):
        return None
    if not by_clock:
        return Moment(later(now, seconds=amount.seconds), begun=now) if amount.seconds else None
    day = calendar.after(now.date(), amount)
    at = clock.on(day, zone) if clock else on_the_clock(datetime.combine(day, now.time()), zone)
    return Moment(later(at, seconds=amount.seconds))


def _once(pieces: Pieces, days: list[str], clock: TimeOfDay | None, now: datetime, zone: ZoneInfo) -> Moment | None:
    time, today = clock or TimeOfDay(), now.date()
    if not days:
        candidates = [time.on(calendar.after(today, Amount(days=ahead)), zone, now) for ahead in range(2)]
    else:
        candidates = [time.on(day, zone, now) for day in calendar.days_of(days[0], pieces[days[0]], today)]
    if time.is_vague and days == ["day"]:
        # "Today at eight", said at ten, is in the evening.
        evening = TimeOfDay(time.hour + 12, time.minute)
        candidates += [evening.on(day, zone) for day in calendar.days_of("day", pieces["day"], today)]
    if len(days) == 2:
        # "Friday the 13th" is a 13th that is a Friday.
        candidates = [at for at in candidates if at.isoweekday() == int(pieces["weekday"]["weekday"])]
    return next((Moment(at) for at in candidates if at > now.astimezone(UTC)), None)


def instant(text: str, zone: ZoneInfo) -> datetime | None:
    """Read a date with a time in the form of machines; without a zone it is in the person's."""
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
    """The reason why words name no coming moment; for a past moment also its instant."""

    reason: Literal["past", "no_day", "no_hour", "several", "unclear"]
    at: datetime | None = None


def problem(text: str, lang: str, now: datetime, zone: ZoneInfo) -> Problem:
    """Return the reason why `moment` has found no coming moment in `text`."""
    if (at := instant(text, zone)) is not None:
        return Problem("past", at)
    if pieces := only_pieces(text, lang):
        return problem_of(pieces, now, zone)
    parts = separator(lang).split(text)
    is_several = len(parts) > 1 and all(only_pieces(part, lang) for part in parts)
    return Problem("several" if is_several else "unclear")


def problem_of(pieces: Pieces, now: datetime, zone: ZoneInfo) -> Problem:
    """Return the reason why the pieces of a text together name no coming moment."""
    now = now.astimezone(zone)
    try:
        clock = calendar.clock_of(pieces)
    except ValueError:
        return Problem("no_hour")
    pieces = _with_today(pieces, clock)
    days = [kind for kind in calendar.DAY_KINDS if kind in pieces]
    if len(days) != 1:
        return Problem("unclear")
    kind, values = days[0], pieces[days[0]]
    if not calendar.exists(kind, values):
        return Problem("no_day")
    try:
        coming = [(clock or TimeOfDay()).on(day, zone) for day in calendar.days_of(kind, values, now.date())]
    except (ValueError, OverflowError):
        return Problem("unclear")
    if all(at <= now.astimezone(UTC) for at in coming):
        return Problem("past", max(coming, default=None))
    return Problem("unclear")
