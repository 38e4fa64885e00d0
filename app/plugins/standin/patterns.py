"""Which abilities a message asks for: the examples of all cards in reach, held against the parts of the message.

An example is made into a pattern: "add {items} to my list" finds the items. A message is cut into parts that each mean
something. If any word is left over, the message means nothing.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache

from agents.language.text.stems import plain
from agents.language.text.vocabulary import Unit
from app.plugins.standin import values
from app.plugins.standin.values import NOTE, OPEN, REFERRING, WHEN, Parameter
from app.plugins.standin.vocabulary import vocabulary
from prompts import card, form_texts

FILL_FORM = "fill_form"
MOST_PARTS = 12
"""Parts of a message between punctuation and conjunctions; a message with more parts is at most one wish."""
LONGEST_WISH = 120
"""Words; a longer text is a story, not a wish, and would make matching slow."""
SOCIAL = ("thanks", "greeting", "goodbye", "yes", "no", "how_are_you", "cancel")
_PART = re.compile(r"\{(\w+)\}|([^{}]+)")
_OPENED, _CLOSED = re.compile(r"[^\s\w,.;:!?]+$"), re.compile(r"[^\s\w,.;:!?]+")
_FILLER = "~"
"""Stands before the stem of a word that may be said or left out."""


@dataclass(frozen=True)
class Spoken:
    """A text as patterns read it: its stems in a line, each followed by a blank."""

    text: str
    units: tuple[Unit, ...]
    line: str

    @cached_property
    def stems(self) -> frozenset[str]:
        """Return the line's stems."""
        return frozenset(self.line.split())

    def piece(self, start: int, end: int) -> str:
        """Return the plain text behind a part of the line, with marks at its edges such as those of "<b>"."""
        first = self.units[self.line.count(" ", 0, start)]
        last = self.units[self.line.count(" ", 0, end) - 1]
        opened, closed = _OPENED.search(self.text[: first.start]), _CLOSED.match(self.text[last.end :])
        return f"{opened[0] if opened else ''}{self.text[first.start : last.end]}{closed[0] if closed else ''}"


@lru_cache(maxsize=2_000)
def spoken(text: str, lang: str) -> Spoken:
    """Read a text for patterns."""
    flat = plain(text)
    units = tuple(vocabulary(lang).units(flat))
    return Spoken(flat, units, _line([unit.stem for unit in units], lang))


def _line(stems: Sequence[str], lang: str) -> str:
    fillers = vocabulary(lang).fillers
    return "".join(f"{_FILLER if stem in fillers else ''}{stem} " for stem in stems)


@dataclass(frozen=True)
class Pattern:
    """An example phrase, ready to be held against a text."""

    tool: str
    owner: str
    """Who acts on it: empty for the speaker itself, else the entry tool of a dialog, or another speaker's tool."""
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

    @property
    def is_weak(self) -> bool:
        """Whether its fixed words do not say what it is about: "no, {when}", "delete {numbers}"."""
        lexicon = vocabulary(self.lang)
        fixed = {stem.removeprefix(_FILLER) for stem in self.literals}
        is_chosen = bool(fixed or len(self.slots) > 1) and any(lexicon.choices(self.tool, it) for it in self.slots)
        return bool(self.slots) and not is_chosen and fixed <= lexicon.listed("bare") | lexicon.stop

    @property
    def is_telling(self) -> bool:
        """Whether it has a fixed word that is no pronoun and the like: "I know {skills}", not "I am {experience}"."""
        lexicon = vocabulary(self.lang)
        fixed = {stem.removeprefix(_FILLER) for stem in self.literals}
        return not fixed <= lexicon.listed("sentence") | lexicon.fillers

    @cached_property
    def regex(self) -> re.Pattern[str]:
        """Return the expression that fits the line of a text."""
        filler = rf"(?:{_FILLER}\S+ )*"
        spaced, before, pieces = vocabulary(self.lang).spaced, "", []
        for slot, line in self.parts:
            stems = [f"{re.escape(stem)} " for stem in line.split()] or [self._slot(slot)]
            # "An hour" is a time and "my car" the user's; without blanks a filler may be a letter of the value.
            is_bare = slot in (WHEN, NOTE) or (not spaced and (slot or before))
            pieces.append(("" if is_bare else filler) + filler.join(stems))
            before = slot
        return re.compile("".join(pieces) + ("" if before and not spaced else filler))

    def _slot(self, slot: str) -> str:
        if not (choices := _choices(self.tool, slot, self.lang)):
            # A value needs a word besides the optional ones.
            return rf"(?P<{slot}>(?:{_FILLER}\S+ )*(?!{_FILLER})\S+ (?:\S+ )*?)"
        return f"(?P<{slot}>{'|'.join(map(re.escape, choices))})"

    def match(self, text: Spoken) -> dict[str, str] | None:
        """Return the raw slot values if the pattern fits the whole text, else None."""
        if not self.literals <= text.stems or len(text.units) > LONGEST_WISH:
            return None
        # "No, the timer at 5" is a correction; "no timer at 5" is no wish for a timer.
        if not self.slots.isdisjoint(REFERRING) and "," in self.example and not re.search("[,，]", text.text):
            return None
        if not self.timed:
            return self._fit(text)
        named = values.parted(text.text, self.lang)
        slots = self._fit(spoken(named[1], self.lang)) if named else None
        if named is None or slots is None:
            return None
        # Words on both sides of a time are not one thing to do.
        is_one_text = all(value in text.text for value in slots.values())
        return {**slots, WHEN: self._when(named[0])} if is_one_text else None

    def _fit(self, text: Spoken) -> dict[str, str] | None:
        if (fit := self.regex.fullmatch(text.line)) is None:
            return None
        slots = {slot: text.piece(*fit.span(slot)) for slot in fit.groupdict()}
        if WHEN in slots:
            slots[WHEN] = self._when(slots[WHEN])
        is_time = WHEN not in slots or values.time_in(slots[WHEN], vocabulary(self.lang)) is not None
        return slots if is_time else None

    def _when(self, raw: str) -> str:
        """Return what a time means beside the phrase's verb: for "snooze" a length of time is a delay."""
        lexicon = vocabulary(self.lang)
        if self.literals & lexicon.listed("repeat"):
            for once, again in zip(lexicon.phrases("once"), lexicon.phrases("again"), strict=True):
                raw = raw.replace(once, again)
        for form in lexicon.phrases("later") if self.literals & lexicon.listed("postpone") else ():
            raw = values.later(raw, form, self.lang)
        return raw

    def is_bounded(self, slot: str, kinds: Mapping[str, Parameter]) -> bool:
        """Tell whether what fills an open slot is plain: fixed words or typed values on both sides.

        The edge of the message is a side too, where the phrase has a typed value beside the open one.
        """
        place = [name for name, _ in self.parts].index(slot)
        is_typed = any(it in kinds and kinds[it].kind not in OPEN for it in self.slots)
        sides = [self.parts[it] for it in (place - 1, place + 1) if 0 <= it < len(self.parts)]
        are_typed = all(not it or (it in kinds and kinds[it].kind not in OPEN) for it, _ in sides)
        # "Put a lid on it" names no list.
        ending = self.parts[place + 1 :] if place + 2 == len(self.parts) else ()
        behind = {stem.removeprefix(_FILLER) for _, line in ending for stem in line.split()}
        is_vague = bool(behind) and behind <= vocabulary(self.lang).listed("pointing", "stop")
        return (len(sides) == 2 or is_typed) and are_typed and not is_vague


@dataclass(frozen=True)
class Match:
    """A piece of text that a pattern fits, and the raw values of its slots."""

    pattern: Pattern
    slots: Mapping[str, str]
    text: str

    @property
    def names_only(self) -> bool:
        """Whether it has no word but the name of a list, which may belong to the words before it."""
        fixed = {stem.removeprefix(_FILLER) for stem in self.pattern.literals}
        return not self.slots and fixed <= vocabulary(self.pattern.lang).listed("nouns")

    @property
    def is_exact(self) -> bool:
        """Whether the fixed words are said as the example has them: "added" is not "add"."""
        lexicon = vocabulary(self.pattern.lang)
        fixed = lexicon.spelled(re.sub(r"\{\w+\}", " ", self.pattern.example))
        # "To-dos" is "to-do": a noun may be said of one or of several.
        loose = lexicon.fillers | {*lexicon.phrases("nouns")}
        return {it for it in fixed if it not in loose} <= {*lexicon.spelled(self.text)}


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
    last = len(texts) - 1
    lexicon = vocabulary(lang)
    telling = [stem for slot, text in texts if not slot for stem in lexicon.stems(text) if stem not in lexicon.fillers]
    # One word is little to go by: "my plan: {plan}" is no "plan {plan}".
    is_all_needed = (len(telling) < 2 or not lexicon.spaced) and bool(slots - {WHEN})
    lines = [
        "" if slot else _needed(text, lang, it > 0, it < last, is_all_needed) for it, (slot, text) in enumerate(texts)
    ]
    for place, (slot, text) in enumerate(texts):
        # Two slots need something between them, and a phrase of fillers only would fit everything.
        if not slot and not lines[place] and (not any(lines) or 0 < place < last):
            lines[place] = _line(vocabulary(lang).stems(text), lang)
    parts = tuple((slot, line) for (slot, _), line in zip(texts, lines, strict=True) if slot or line)
    return Pattern(tool, owner, example, lang, parts, of_form, timed)


@cache
def _choices(tool: str, slot: str, lang: str) -> tuple[str, ...]:
    """Return the lines of what a slot with a closed set of values may say, the longest first."""
    phrases = [phrase for of_value in vocabulary(lang).choices(tool, slot).values() for phrase in of_value]
    return tuple(sorted({_line(vocabulary(lang).stems(it), lang) for it in phrases}, key=len, reverse=True))


def _needed(text: str, lang: str, behind_slot: bool, before_slot: bool, whole: bool) -> str:
    """Return the line of what must be said: all words, or those that say something.

    Without blanks that is also each filler beside a slot.
    """
    lexicon = vocabulary(lang)
    stems = [(stem, word) for word in text.split() for stem in lexicon.stems(word)]
    needed = [place for place, it in enumerate(stems) if whole or it[1][0] == "+" or it[0] not in lexicon.fillers]
    if needed and not lexicon.spaced:
        needed = [*range(needed[0] * behind_slot), *needed, *range(needed[-1] + 1, len(stems) * before_slot)]
    return _line([stems[place][0] for place in needed], lang)


@dataclass(frozen=True)
class PhraseSource:
    """Where example phrases come from: a tool's card, or a form whose fields the tool fills."""

    tool: str
    owner: str = ""
    form: str | None = None
    examples: tuple[str, ...] = ()
    """Phrases of a remote tool, which has no card."""

    def patterns(self, lang: str) -> Iterator[Pattern]:
        """Yield the patterns of its phrases."""
        for example in card(self.tool, lang)[1] or self.examples:
            made = pattern(example, lang, self.tool, self.owner)
            yield made
            if made.timed and "{text}" not in example:
                # "For 7" is a time where a time has to be ("set an alarm for {when}"), not anywhere in a sentence.
                yield pattern(example, lang, self.tool, self.owner, placed=True)
        for field in form_texts(self.form, lang).values() if self.form else ():
            for example in field.get("examples", ()):
                yield pattern(example, lang, self.tool, self.owner, of_form=True)


@dataclass(frozen=True)
class Phrasebook:
    """The example phrases of several sources in one language."""

    lang: str
    patterns: tuple[Pattern, ...]

    def wishes(self, text: str, own: frozenset[str]) -> tuple[Match, ...]:
        """Return the wishes of a message in order; empty if a word belongs neither to a wish nor to small talk.

        Of several ways to cut the message the one with the most wishes counts. `own` are the speaker's tools.
        """
        flat, lexicon = plain(text), vocabulary(self.lang)
        parts = values.spans(flat, lexicon.between_wishes)
        if len(parts) > MOST_PARTS:
            parts = [(parts[0][0], parts[-1][1])]
        # The wishes of all parts from a place on; None if one of the parts means nothing.
        behind: dict[int, tuple[Match, ...] | None] = {len(parts): ()}
        for first in reversed(range(len(parts))):
            ways: list[tuple[Match, ...]] = []
            for last in range(first, len(parts)):
                rest, piece = behind[last + 1], flat[parts[first][0] : parts[last][1]]
                if rest is None:
                    continue
                if match := self.find(piece, own):
                    ways.append((match, *rest))
                elif first == last and lexicon.made_of(piece, *SOCIAL):
                    ways.append(rest)
            behind[first] = max(ways, key=len, default=None)
        return behind[0] or ()

    def begins_order(self, text: str) -> bool:
        """Tell whether a text begins with a word with which an example begins: "turn off the lights"."""
        lexicon = vocabulary(self.lang)
        first = next((stem for stem in lexicon.stems(text) if stem not in lexicon.fillers), "")
        return first in self._verbs

    @cached_property
    def _verbs(self) -> frozenset[str]:
        lexicon = vocabulary(self.lang)
        heads = (line.split()[0] for it in self.patterns for slot, line in it.parts[:1] if not (slot or it.of_form))
        return frozenset(heads) - lexicon.stop

    def holds_wish(self, text: str) -> bool:
        """Tell whether a part of a longer message is a wish."""
        flat = plain(text)
        parts = values.spans(flat, vocabulary(self.lang).between_wishes)
        return len(parts) > 1 and any(self.find(flat[start:end], frozenset()) for start, end in parts)

    def find(self, text: str, own: frozenset[str]) -> Match | None:
        """Return the pattern that fits the whole text and says most, with or without a polite opening."""
        texts = _variants(text, self.lang)
        fits = [
            Match(it, slots, text) for said in texts for it in self.patterns if (slots := it.match(said)) is not None
        ]
        if not fits:
            return None
        best = max(fits, key=lambda match: _rank(match, own))
        # "Add milk to my list" is an example that is shown to users; {items} finds the milk in it.
        alike = [match for match in fits if match.pattern.tool == best.pattern.tool and match.slots]
        return best if best.slots or not alike else max(alike, key=lambda match: _rank(match, own))

    def nearest(self, text: str) -> list[str]:
        """Return the examples that share most words with a text, the nearest of each tool, as they can be shown."""
        lexicon = vocabulary(self.lang)
        telling = {stem for stem in lexicon.stems(plain(text)) if stem not in lexicon.stop}
        shares: dict[str, tuple[float, str]] = {}
        for it in self.patterns:
            shared = len(telling & it.literals) / (1 + len(it.literals))
            shown = re.sub(r"\{\w+\}", "…", it.example.replace("+", ""))
            shares[it.tool] = max(shares.get(it.tool, (0.0, "")), (shared, shown))
        return [shown for share, shown in sorted(shares.values(), reverse=True) if share]


@lru_cache(maxsize=200)
def phrasebook(sources: tuple[PhraseSource, ...], lang: str) -> Phrasebook:
    """Gather the example phrases of the sources."""
    return Phrasebook(lang, tuple(made for source in sources for made in source.patterns(lang)))


def _rank(match: Match, own: frozenset[str]) -> tuple[float, bool, bool, int]:
    lexicon, said = vocabulary(match.pattern.lang), match.pattern.literals
    opening = next((len(it) for it in lexicon.openings if {*it} <= said), 0)
    closed = sum(slot == WHEN or bool(lexicon.choices(match.pattern.tool, slot)) for slot in match.slots)
    size = sum(len(value) for slot, value in match.slots.items() if slot != WHEN)
    return len(said) - opening / 2 + closed, not match.pattern.owner, match.pattern.tool in own, -size


def _variants(text: str, lang: str) -> list[Spoken]:
    """Return the text, and what is left of it behind one or two polite openings."""
    lexicon = vocabulary(lang)
    variants = [spoken(text, lang)]
    for _ in range(2):
        units = [*variants[-1].units]
        while units and units[0].stem in lexicon.fillers:
            units = units[1:]
        stems = tuple(unit.stem for unit in units)
        opening = next((entry for entry in lexicon.openings if stems[: len(entry)] == entry), ())
        if not opening or len(stems) == len(opening):
            break
        variants.append(spoken(variants[-1].text[units[len(opening)].start :], lang))
    return variants


def is_request(text: str, lang: str) -> bool:
    """Tell whether a text begins as a polite request does ("could you …")."""
    return len(_variants(text, lang)) > 1
