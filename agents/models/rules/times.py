"""Times in what users say, in the very words that the tools for reminders are given."""

from datetime import datetime
from functools import lru_cache
from zoneinfo import ZoneInfo

from agents.schedule.grammar import Reading, read
from agents.schedule.parser import meant
from agents.text.vocabulary import Vocabulary

_SOME_DAY = datetime(2000, 1, 1, tzinfo=ZoneInfo("UTC"))
"""Whether words name a time must not depend on when they are said; the tools know what is past."""
_LOOSE = {"after", "part"}
"""What may as well belong to the thing to do: "2 days" off, a good "morning"."""


@lru_cache(maxsize=2_000)
def parted(text: str, lang: str) -> tuple[str, str] | None:
    """Return the words of a plain text that name one moment to come, and the others; None if it names none."""
    found = read(text, lang)
    if found is None or not _names_a_moment(found):
        return None
    when = " ".join(text[start:end] for start, end in found.places)
    again = read(when, lang)
    if again is None or again.rest or again.pieces != found.pieces:
        return None
    bounds = [0, *(bound for place in found.places for bound in place), len(text)]
    others = (text[start:end].strip() for start, end in zip(bounds[::2], bounds[1::2], strict=True))
    return when, " ".join(other for other in others if other)


def whole(text: str, rest: str, lang: str) -> bool:
    """Whether a thing to do stands in one piece in the text, or the time within it is plainly one."""
    found = read(text, lang)
    return rest in text or not (found and found.pieces.keys() <= _LOOSE)


def time_in(raw: str, words: Vocabulary) -> str | None:
    """Return words that name a time or a change of time and nothing else, as tools understand them."""
    for form in ("{}", *words.phrases("times")):
        said = form.format(raw.strip(" ,.;:!?"))
        found = read(said, words.lang)
        if found and not found.rest and ("shift" in found.pieces or _names_a_moment(found)):
            return said
    return None


def _names_a_moment(found: Reading) -> bool:
    return meant(found.pieces, _SOME_DAY, ZoneInfo("UTC")) is not None
