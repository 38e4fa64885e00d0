"""Why words name no time to come: it is past, there is no such day or hour, or they are not understood."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal
from zoneinfo import ZoneInfo

from agents.language.schedule.days import KINDS as DAYS
from agents.language.schedule.days import days_of, exists
from agents.language.schedule.grammar import read, separator
from agents.language.schedule.lexicon import Pieces
from agents.language.schedule.parser import instant
from agents.language.schedule.time_of_day import Clock, clock_of


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
    days = [kind for kind in DAYS if kind in pieces]
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
