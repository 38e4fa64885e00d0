"""A day told in one sentence: "dentist at 10, groceries, pick up the kids at 3:30"."""

from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from agents.language.schedule import Moment
from agents.language.schedule.days import KINDS as DAYS
from agents.language.schedule.grammar import pieces_in, read, separator
from agents.language.schedule.lexicon import Pieces
from agents.language.schedule.parser import EARLY, meant
from agents.language.schedule.problem import Problem, problem_of
from agents.language.schedule.recurrence import KINDS as REPEATS
from agents.language.schedule.time_of_day import KINDS as TIMES
from agents.language.schedule.time_of_day import clock_of, halved

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
    is_headed = named is not None and not named.rest and named.pieces.keys() <= set(DAYS)
    day = dict(named.pieces) if named is not None and is_headed else {"day": {"day": "0"}}
    parts = (part.strip(" .;!") for part in separator(lang).split(tail if is_headed else text))
    return [_item(part, lang, day, now.astimezone(zone), zone) for part in parts if part]


def _item(part: str, lang: str, day: Pieces, now: datetime, zone: ZoneInfo) -> Item:
    reading = read(part, lang)
    if reading is None:
        return Item(part, problem=Problem("unclear") if pieces_in(part, lang) else None)
    pieces = dict(reading.pieces)
    if pieces.keys() <= TIMES - {"daily"}:
        pieces |= day
    if not pieces.keys() & ({*TIMES, *DAYS, "after"} | REPEATS):
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
