"""Example phrases made into patterns, and texts held against them: "add {items} to my list" finds the items."""

import re
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache

from agents.language.text.stems import plain, words
from agents.language.text.vocabulary import Unit
from agents.models.standin.values import WHEN, later, parted, time_in, values_list
from agents.models.standin.vocabulary import vocabulary

_PART = re.compile(r"\{(\w+)\}|([^{}]+)")
_FILLER = "~"
"""Stands before the stem of a word that may be said or left out."""
LONGEST_WISH = 60
"""Words; a longer text is a story, not a wish, and would make matching slow."""


@dataclass(frozen=True)
class Spoken:
    """A text as patterns read it: its stems in a line, each followed by a blank."""

    text: str
    lang: str
    units: tuple[Unit, ...]
    line: str

    @cached_property
    def stems(self) -> frozenset[str]:
        """Return the stems of the line."""
        return frozenset(self.line.split())

    def piece(self, start: int, end: int) -> str:
        """Return the plain text behind a part of the line, with the quotation marks at its edges."""
        first = self.units[self.line.count(" ", 0, start)]
        last = self.units[self.line.count(" ", 0, end) - 1]
        opened = self.text[: first.start].endswith(('"', "«", "“"))
        closed = self.text[last.end :].startswith(('"', "»", "”"))
        return self.text[first.start - opened : last.end + closed]


@lru_cache(maxsize=2_000)
def spoken(text: str, lang: str) -> Spoken:
    """Read a text for patterns."""
    flat = plain(text)
    units = tuple(vocabulary(lang).units(flat))
    return Spoken(flat, lang, units, _line([unit.stem for unit in units], lang))


@dataclass(frozen=True)
class Pattern:
    """An example phrase, ready to be held against a text."""

    tool: str
    owner: str
    """Who acts on it: empty for the speaker itself, else the entry tool of a dialog or another's tool."""
    example: str
    lang: str
    parts: tuple[tuple[str, str], ...]
    """Its slots, each a name and "", and between them what must be said, each "" and a line of stems."""
    of_form: bool = False
    timed: bool = False
    """Whether a time may stand anywhere in the phrase; else `{when}` has a place like any slot."""

    @cached_property
    def literals(self) -> frozenset[str]:
        """Return the stems that must be said."""
        return frozenset(stem for _, line in self.parts for stem in line.split())

    @cached_property
    def slots(self) -> frozenset[str]:
        """Return the names of the values that it finds."""
        return frozenset(slot for slot, _ in self.parts if slot) | ({WHEN} if self.timed else set())

    @cached_property
    def weight(self) -> float:
        """Return how much the phrase says: a word, a time and a value of a closed set count 1, an opening 0.5."""
        stems = tuple(stem for _, line in self.parts for stem in line.split())
        opening = next((entry for entry in vocabulary(self.lang).openings if stems[: len(entry)] == entry), ())
        closed = sum(bool(values_of(self.tool, slot, self.lang)) for slot in self.slots)
        return len(stems) - len(opening) + 0.5 * bool(opening) + closed + (WHEN in self.slots)

    @cached_property
    def said(self) -> int:
        """Return how many words must be said that are more than fillers."""
        return sum(not stem.startswith(_FILLER) for _, line in self.parts for stem in line.split())

    @property
    def strong(self) -> bool:
        """Whether a match can hardly be an answer to another question."""
        alone = self.slots and self.weight < 2 and self.literals <= vocabulary(self.lang).listed("edits.alone")
        return bool(self.parts) and not alone

    @cached_property
    def regex(self) -> re.Pattern[str]:
        """Return the expression that fits the line of a text."""
        filler = rf"(?:{_FILLER}\S+ )*"
        pieces: list[str] = []
        for slot, line in self.parts:
            stems = [f"{re.escape(stem)} " for stem in line.split()] or [self._slot(slot)]
            # "An" is a filler elsewhere, but "an hour" is a time.
            pieces += stems if slot == WHEN else [filler + piece for piece in stems]
        return re.compile("".join(pieces) + filler)

    def _slot(self, slot: str) -> str:
        if not (values := values_of(self.tool, slot, self.lang)):
            # Not of words alone that may be left out.
            return rf"(?P<{slot}>(?:{_FILLER}\S+ )*(?!{_FILLER})\S+ (?:\S+ )*?)"
        lines = {_line(vocabulary(self.lang).stems(" ".join(value)), self.lang) for value in values}
        return f"(?P<{slot}>{'|'.join(re.escape(line) for line in sorted(lines, key=len, reverse=True))})"

    def match(self, text: Spoken) -> dict[str, str] | None:
        """Return the raw slot values if the pattern fits the whole text, else None."""
        if not self.literals <= text.stems or len(text.units) > LONGEST_WISH:
            return None
        if not self.timed:
            return self._fit(text)
        if (named := parted(text.text, text.lang)) is None or (slots := self._fit(spoken(named[1], text.lang))) is None:
            return None
        # Words from both sides of a time are no one thing to do.
        is_one_text = all(value in text.text for value in slots.values())
        return {**slots, WHEN: self._when(named[0], text.lang)} if is_one_text else None

    def _when(self, raw: str, lang: str) -> str:
        """Return the words of a time; beside "snooze" a length of time is how much later it shall be."""
        is_postponed = self.literals & vocabulary(self.lang).listed("edits.postpone")
        return later(raw, vocabulary(lang)) if is_postponed else raw

    def _fit(self, text: Spoken) -> dict[str, str] | None:
        if (fit := self.regex.fullmatch(text.line)) is None:
            return None
        slots = {slot: text.piece(*fit.span(slot)) for slot in fit.groupdict()}
        if WHEN in slots:
            slots[WHEN] = self._when(slots[WHEN], text.lang)
            if time_in(slots[WHEN], vocabulary(text.lang)) is None:
                return None
        closed = ((slot, values_of(self.tool, slot, text.lang)) for slot in slots)
        return slots if all(not values or tuple(words(slots[slot])) in values for slot, values in closed) else None


@dataclass(frozen=True)
class Match:
    """A piece of text that a pattern fits, and the raw values of its slots."""

    pattern: Pattern
    slots: dict[str, str]
    text: str

    @property
    def tool(self) -> str:
        """Return the tool that is meant."""
        return self.pattern.tool

    @property
    def owner(self) -> str:
        """Return who has the tool; empty for the speaker itself."""
        return self.pattern.owner


@lru_cache(maxsize=10_000)
def pattern(
    example: str, lang: str, tool: str = "", owner: str = "", *, of_form: bool = False, placed: bool = False
) -> Pattern:  # fmt: skip
    """Make a pattern of an example phrase; `+word` is a filler that has to be said.

    With `placed` a time may only stand where the example has it.
    """
    slots = {slot for slot, _ in _PART.findall(example) if slot}
    timed = not placed and WHEN in slots and slots <= {WHEN, "text"}
    texts = _PART.findall(example.replace(f"{{{WHEN}}}", " ") if timed else example)
    lines = ["" if slot else _needed(text, lang) for slot, text in texts]
    for place, (slot, text) in enumerate(texts):
        # Two slots need something between them, and a phrase of fillers only would fit everything.
        if not slot and not lines[place] and (not any(lines) or 0 < place < len(texts) - 1):
            lines[place] = _line(vocabulary(lang).stems(text), lang)
    parts = tuple((slot, line) for (slot, _), line in zip(texts, lines, strict=True) if slot or line)
    return Pattern(tool, owner, example, lang, parts, of_form, timed)


@cache
def values_of(tool: str, slot: str, lang: str) -> frozenset[tuple[str, ...]]:
    """Return what a slot with a closed set of values may say, word for word: endings tell "done" from "to do"."""
    lexicon, name = vocabulary(lang), values_list(tool, slot)
    phrases = (phrase for value in lexicon.phrases(name) for phrase in lexicon.phrases(f"{name}.{value}"))
    return frozenset(tuple(words(phrase)) for phrase in phrases)


def _needed(text: str, lang: str) -> str:
    lexicon = vocabulary(lang)
    stems = [(stem, word) for word in text.split() for stem in lexicon.stems(word)]
    return _line([stem for stem, word in stems if word.startswith("+") or stem not in lexicon.fillers], lang)


def _line(stems: list[str], lang: str) -> str:
    fillers = vocabulary(lang).fillers
    return "".join(f"{_FILLER if stem in fillers else ''}{stem} " for stem in stems)
