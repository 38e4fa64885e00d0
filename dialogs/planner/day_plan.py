"""Read a day that is told in one sentence: "dentist at 10, groceries, pick up the kids at 3:30"."""

from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from agents.language.schedule import Moment, calendar
from agents.language.schedule.grammar import Pieces, only_pieces, pieces_in, read, separator
from agents.language.schedule.parser import EARLY, Problem, meant, problem_of, vague_hour

EVENING = range(6, 9)  # Hours that mean the evening after the morning is over.


@dataclass(frozen=True)
class PlannedItem:
    """An item to do, and its moment, if a time was named; or the reason why it cannot be noted."""

    text: str
    moment: Moment | None = None
    problem: Problem | None = None


def items(text: str, lang: str, now: datetime, zone: ZoneInfo) -> list[PlannedItem]:
    """Return the items of a day in a sentence; a time without a day is today, or on the day before a colon."""
    head, colon, tail = text.partition(": ")
    named = only_pieces(head, lang) if colon else {}
    is_headed = bool(named) and named.keys() <= set(calendar.DAY_KINDS)
    day = named if is_headed else {"day": {"day": "0"}}
    parts = (part.strip(" .;!") for part in separator(lang).split(tail if is_headed else text))
    return [_item(part, lang, day, now.astimezone(zone), zone) for part in parts if part]


def _item(part: str, lang: str, day: Pieces, now: datetime, zone: ZoneInfo) -> PlannedItem:
    reading = read(part, lang)
    if reading is None:
        return PlannedItem(part, problem=Problem("unclear") if pieces_in(part, lang) else None)
    pieces = dict(reading.pieces)
    if pieces.keys() <= calendar.TIME_KINDS - {"daily"}:
        pieces.update(day)
    if not pieces.keys() & ({*calendar.TIME_KINDS, *calendar.DAY_KINDS, "after"} | calendar.REPEAT_KINDS):
        # "Walk 20 minutes" names no time of day.
        return PlannedItem(part)
    tries = [moment for variant in _halves(pieces) if (moment := meant(variant, now, zone))]
    problem = None if tries else problem_of(_halves(pieces)[0], now, zone)
    if not reading.rest:
        problem = Problem("unclear")
    return PlannedItem(part if problem else reading.rest, tries[0] if tries else None, problem)


def _halves(pieces: Pieces) -> list[Pieces]:
    """Return variants of the pieces: an hour like "10" in the morning, "3" in the afternoon, "7" in either."""
    hour = vague_hour(pieces)
    if hour is None:
        return [pieces]
    halves = ["pm"] if hour in EARLY else ["am", "pm"] if hour in EVENING else ["am"]
    return [calendar.halved(pieces, half) for half in halves]
