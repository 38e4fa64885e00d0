"""Example phrases made into patterns: what of them has to be said, where their slots are, how much they say."""

import re
from dataclasses import dataclass
from functools import cache, lru_cache

from agents.models.rules.sentences import vocabulary
from agents.models.rules.values import WHEN
from agents.text.stems import plain, words
from agents.text.vocabulary import Unit

_PART = re.compile(r"\{(\w+)\}|([^{}]+)")


@dataclass(frozen=True)
class Pattern:
    """An example phrase, ready to be held against a text."""

    tool: str
    owner: str
    """Who acts on it: empty for the speaker itself, else the entry tool of a dialog or another's tool."""
    example: str
    regex: re.Pattern[str]
    literals: tuple[str, ...]
    weight: float
    """How much the phrase says: a word counts 1, a polite opening 0.5 in all."""
    of_form: bool = False
    timed: bool = False
    """Whether a time may stand anywhere in the phrase; else `{when}` has a place like any slot."""
    slack: bool = False
    """Whether its only word is one that corrects anything ("add", "remove") or a value."""

    @property
    def slotted(self) -> bool:
        """Whether it finds values."""
        return bool(self.timed or self.regex.groups)

    @property
    def strong(self) -> bool:
        """Whether a match can hardly be an answer to another question."""
        return not self.slack


@lru_cache(maxsize=10_000)
def pattern(
    example: str, lang: str, tool: str = "", owner: str = "", *, of_form: bool = False, placed: bool = False
) -> Pattern:  # fmt: skip
    """Make a pattern of an example phrase; `+word` is a filler that has to be said.

    With `placed` a time may only stand where the example has it.
    """
    fillers = "|".join(re.escape(stem) for stem in sorted(vocabulary(lang).fillers))
    filler = f"(?:(?:{fillers}) )*"
    slots = {slot for slot, _ in _PART.findall(example) if slot}
    timed = not placed and WHEN in slots and slots <= {WHEN, "text"}
    parts = _PART.findall(re.sub(r"\{when\}", " ", example) if timed else example)
    sequence: list[str] = []
    literals: list[str] = []
    said_anything = any(_needed(text, lang, between=False) for _, text in parts)
    for place, (slot, text) in enumerate(parts):
        if slot:
            sequence.append(_slot(slot, lang))
            literals += [slot] if values_of(slot, lang) else []
            continue
        between = not said_anything or (0 < place < len(parts) - 1)
        needed = _needed(text, lang, between=between)
        literals += needed
        sequence += [re.escape(f"{stem} ") for stem in needed]
    # "An" is a filler elsewhere, but "an hour" is a time.
    before = ("" if part.startswith(f"(?P<{WHEN}>") else filler for part in sequence)
    regex = re.compile("".join(gap + part for gap, part in zip(before, sequence, strict=True)) + filler)
    slack = len(literals) < 2 and set(literals) <= _edit_words(lang) | {slot for slot, _ in parts}
    weight = _weight(literals, lang) + (WHEN in slots)
    return Pattern(tool, owner, example, regex, tuple(literals), weight, of_form, timed, slack)


def _needed(text: str, lang: str, *, between: bool) -> list[str]:
    lexicon = vocabulary(lang)
    needed = []
    for word in text.split():
        needed += [stem for stem in lexicon.stems(word) if word.startswith("+") or stem not in lexicon.fillers]
    # Two slots need something between them, and a phrase of fillers only would fit everything.
    return needed or (lexicon.stems(text) if between else [])


def _slot(slot: str, lang: str) -> str:
    values = values_of(slot, lang)
    if not values:
        return rf"(?P<{slot}>(?:\S+ )+?)"
    phrases = {" ".join(vocabulary(lang).stems(" ".join(value))) for value in values}
    choices = "|".join(re.escape(f"{entry} ") for entry in sorted(phrases, key=len, reverse=True))
    return f"(?P<{slot}>{choices})"


@cache
def values_of(slot: str, lang: str) -> frozenset[tuple[str, ...]]:
    """Return what a slot with a closed set of values may say, word for word: endings tell "done" from "to do"."""
    lexicon = vocabulary(lang)
    lists = lexicon.phrases(f"values.{slot}")
    return frozenset(tuple(words(phrase)) for value in lists for phrase in lexicon.phrases(f"values.{slot}.{value}"))


@cache
def _edit_words(lang: str) -> frozenset[str]:
    lexicon = vocabulary(lang)
    names = ("edits.added", "edits.removed", "edits.replaced")
    return frozenset(stem for name in names for word in lexicon.phrases(name) for stem in lexicon.stems(word))


def _weight(literals: list[str], lang: str) -> float:
    for opening in vocabulary(lang).openings:
        if tuple(literals[: len(opening)]) == opening:
            return len(literals) - len(opening) + 0.5
    return float(len(literals))


_QUOTES = ('"', "«", "“"), ('"', "»", "”")


@dataclass(frozen=True)
class Spoken:
    """A text as patterns read it: its stems in a line, each followed by a blank."""

    text: str
    lang: str
    units: tuple[Unit, ...]
    line: str

    def piece(self, start: int, end: int) -> str:
        """Return the plain text behind a part of the line, with the quotation marks at its edges."""
        first = self.units[self.line.count(" ", 0, start)]
        last = self.units[self.line.count(" ", 0, end) - 1]
        opened = self.text[: first.start].endswith(_QUOTES[0])
        closed = self.text[last.end :].startswith(_QUOTES[1])
        return self.text[first.start - opened : last.end + closed]


@lru_cache(maxsize=2_000)
def spoken(text: str, lang: str) -> Spoken:
    """Read a text for patterns."""
    flat = plain(text)
    units = tuple(vocabulary(lang).units(flat))
    return Spoken(flat, lang, units, "".join(f"{unit.stem} " for unit in units))
