"""Times in what users say, in the very words that the tools for reminders are given."""

import re
from datetime import datetime
from functools import lru_cache
from zoneinfo import ZoneInfo

from agents.language.schedule.grammar import Reading, pieces_in, read
from agents.language.schedule.parser import meant
from agents.language.schedule.period import period
from agents.language.schedule.problem import problem_of
from agents.language.text.vocabulary import Vocabulary

_CLOCK = re.compile(r"\d[:.]\d\d")
_SOME_DAY = datetime(2000, 1, 1, tzinfo=ZoneInfo("UTC"))
"""Whether words name a time must not depend on when they are said; the tools know what is past."""


@lru_cache(maxsize=2_000)
def parted(text: str, lang: str) -> tuple[str, str] | None:
    """Return the words of a plain text that name one moment to come, and the others; None if it names none."""
    reading = read(text, lang)
    if reading is None or not _names_a_moment(reading):
        return None
    when = " ".join(text[start:end] for start, end in reading.places)
    again = read(when, lang)
    if again is None or again.rest or again.pieces != reading.pieces:
        return None
    bounds = [0, *(bound for place in reading.places for bound in place), len(text)]
    others = (text[start:end].strip() for start, end in zip(bounds[::2], bounds[1::2], strict=True))
    return when, " ".join(other for other in others if other)


def time_in(raw: str, words: Vocabulary) -> str | None:
    """Return words that name a time or a change of time and nothing else, as tools understand them."""
    if period(raw, words.lang, _SOME_DAY, ZoneInfo("UTC")) is not None:
        return raw.strip(" ,.;:!?")
    plain = raw.strip(" ,.;:!?")
    for form in ("{}",) if pieces_in(plain, words.lang) else ("{}", *words.phrases("times")):
        phrase = form.format(plain)
        reading = read(phrase, words.lang)
        if reading and not reading.rest and ("shift" in reading.pieces or _names_a_moment(reading)):
            return phrase
    return None


def later(raw: str, words: Vocabulary) -> str:
    """Return "two hours" as "two hours later", which counts from the time that is put off; any other time as it is."""
    for phrase in (form.format(raw.strip(" ,.;:!?")) for form in words.phrases("edits.later")):
        if (reading := read(phrase, words.lang)) and not reading.rest and reading.pieces.keys() == {"shift"}:
            return phrase
    return raw


def names_time(text: str, lang: str) -> bool:
    """Tell whether any words of a text speak of time, or could if there were such a time."""
    return bool(pieces_in(text, lang)) or _CLOCK.search(text) is not None


def _names_a_moment(reading: Reading) -> bool:
    zone = ZoneInfo("UTC")
    is_real = meant(reading.pieces, _SOME_DAY, zone) is not None
    # The tool says what is wrong with a time that is past, or that there is not ("at 25:00").
    return is_real or problem_of(reading.pieces, _SOME_DAY, zone).reason != "unclear"
