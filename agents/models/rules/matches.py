"""Patterns held against what people say: "add {items} to my list" finds the items in what a user writes."""

from dataclasses import dataclass

from agents.models.rules.pattern import Pattern, Spoken, pattern, spoken, values_of
from agents.models.rules.sentences import vocabulary
from agents.models.rules.times import parted, time_in, whole
from agents.models.rules.values import WHEN
from agents.text.stems import words

LONGEST = 60
"""Words; a longer text is a story, not a wish, and would make matching slow."""


@dataclass(frozen=True)
class Match:
    """A piece of text that a pattern fits, and the raw values of its slots."""

    pattern: Pattern
    slots: dict[str, str]
    text: str
    exact: bool = True

    @property
    def tool(self) -> str:
        """Return the tool that is meant."""
        return self.pattern.tool

    @property
    def owner(self) -> str:
        """Return who has the tool; empty for the speaker itself."""
        return self.pattern.owner


def match(candidate: Pattern, text: Spoken) -> dict[str, str] | None:
    """Return the raw slot values if the pattern fits the whole text, else None."""
    if len(text.units) > LONGEST:
        return None
    if not candidate.timed:
        return _slots(candidate, text)
    if (named := parted(text.text, text.lang)) is None:
        return None
    slots = _slots(candidate, spoken(named[1], text.lang))
    if slots is None or not all(whole(text.text, value, text.lang) for value in slots.values()):
        return None
    return {**slots, WHEN: named[0]}


def _slots(candidate: Pattern, text: Spoken) -> dict[str, str] | None:
    if (fit := candidate.regex.fullmatch(text.line)) is None:
        return None
    slots = {slot: text.piece(*fit.span(slot)) for slot in fit.groupdict()}
    if WHEN in slots and time_in(slots[WHEN], vocabulary(text.lang)) is None:
        return None
    closed = ((slot, values_of(slot, text.lang)) for slot in slots)
    return slots if all(not values or tuple(words(slots[slot])) in values for slot, values in closed) else None


def first_match(name: str, text: str, lang: str) -> dict[str, str] | None:
    """Return the slots of the pattern in a word list ("edits.replace") that fits the text and says most."""
    heard = spoken(text, lang)
    best: tuple[float, dict[str, str]] | None = None
    for example in vocabulary(lang).phrases(name):
        candidate = pattern(example, lang)
        slots = match(candidate, heard)
        if slots is not None and (best is None or candidate.weight > best[0]):
            best = candidate.weight, slots
    return best and best[1]
