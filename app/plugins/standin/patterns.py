"""The wishes of a message: its parts, matched with the examples of all cards in reach.

Each example becomes a pattern: "add {items} to my list" finds the items. Each part of a message must match a pattern
or be small talk. If any word is left over, the message has no wishes.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache

from agents.language.schedule.grammar import is_shift
from agents.language.text.stems import plain
from agents.language.text.vocabulary import Unit
from app.plugins.standin import values
from app.plugins.standin.values import NOTE, OPEN, WHEN, Parameter
from app.plugins.standin.vocabulary import vocabulary
from prompts import card, form_texts

MOST_PARTS = 12
"""Limit of parts between punctuation and conjunctions; a message with more parts is at most one wish."""
LONGEST_WISH = 120
"""Words of a wish at most; a longer text is a story, and would make matching slow."""
KIND = ("thanks", "greeting", "goodbye", "wait")
SOCIAL = (*KIND, "yes", "no", "cancel")
"""The lists of words beside a wish."""
_OPENED, _CLOSED = re.compile(r"[^\s\w,.;:!?]+$"), re.compile(r"[^\s\w,.;:!?]+")
_LETTER = re.compile(r"\b[^\W\d_]\b(?=\s*(?:[,;\"”»]|$))")
_PART = re.compile(r"\{(\w+)\}|([^{}]+)")
_FILLER = "~"
"""The mark before the stem of an optional word."""


@dataclass(frozen=True)
class Spoken:
    """A text in the form for patterns: a line of its stems, each with a blank after it."""

    text: str
    units: tuple[Unit, ...]
    line: str
    stems: frozenset[str]

    def piece(self, start: int, end: int) -> str:
        """Return the plain text of a part of the line, with marks at its edges such as those of "<b>"."""
        first = self.units[self.line.count(" ", 0, start)]
        last = self.units[self.line.count(" ", 0, end) - 1]
        opened, closed = _OPENED.search(self.text[: first.start]), _CLOSED.match(self.text[last.end :])
        return f"{opened[0] if opened else ''}{self.text[first.start : last.end]}{closed[0] if closed else ''}"


@lru_cache(maxsize=2_000)
def spoken(text: str, lang: str) -> Spoken:
    """Return a text in the form for patterns."""
    flat, lexicon = plain(text), vocabulary(lang)
    units = tuple(lexicon.units(flat))
    # "Add a, b and c": a single letter is no article.
    letters = {match.start() for match in _LETTER.finditer(flat)} if lexicon.spaced else set[int]()
    line = "".join(f"{unit.stem} " if unit.start in letters else _line([unit.stem], lang) for unit in units)
    return Spoken(flat, units, line, frozenset(unit.stem for unit in units))


def _line(stems: Sequence[str], lang: str) -> str:
    fillers = vocabulary(lang).fillers
    return "".join(f"{_FILLER if stem in fillers else ''}{stem} " for stem in stems)


@dataclass(frozen=True)
class Pattern:
    """An example phrase, ready for a match with a text."""

    tool: str
    owner: str
    """Of its wish: empty for the speaker, else a dialog's entry tool or another speaker's tool."""
    example: str
    lang: str
    parts: tuple[tuple[str, str], ...]
    """Its slots, each a name and "", and between them its fixed words, each "" and a line of stems."""
    of_form: bool = False
    timed: bool = False
    """Whether a time may stand anywhere in the phrase, not only at `{when}`."""

    @cached_property
    def fixed(self) -> frozenset[str]:
        """Return the stems of its fixed words."""
        return _stems_of(*(line for _, line in self.parts))

    @cached_property
    def slots(self) -> frozenset[str]:
        """Return the names of its slots."""
        return frozenset(slot for slot, _ in self.parts if slot) | ({WHEN} if self.timed else set())

    @property
    def is_weak(self) -> bool:
        """Whether its fixed words name no subject: "no, {when}", "delete {numbers}"."""
        lexicon = vocabulary(self.lang)
        is_chosen = len(self.parts) > 1 and any(lexicon.choices(self.tool, it) for it in self.slots)
        return bool(self.slots) and not is_chosen and self.fixed <= lexicon.listed("bare", "ending") | lexicon.stop

    @property
    def is_telling(self) -> bool:
        """Whether a fixed word is more than a pronoun or the like: "I know {skills}", not "I am {experience}"."""
        lexicon = vocabulary(self.lang)
        return not self.fixed <= lexicon.listed("sentence") | lexicon.fillers

    @cached_property
    def regex(self) -> re.Pattern[str]:
        """Return the regular expression for the line of a text, with or without a polite opening."""
        filler, spaced = rf"(?:{_FILLER}\S+ )*", vocabulary(self.lang).spaced
        before, pieces = "", [rf"(?:{filler}(?:{'|'.join(map(re.escape, _openings(self.lang)))})){{0,2}}"]
        for slot, line in self.parts:
            stems = [f"{re.escape(stem)} " for stem in line.split()] or [self._slot(slot)]
            # "An hour" is a time and "my car" the user's; without blanks a filler may be a letter of the value.
            is_bare = slot in (WHEN, NOTE) or (not spaced and (slot or before))
            pieces.append(("" if is_bare else filler) + filler.join(stems))
            before = slot
        return re.compile("".join(pieces) + ("" if before and not spaced else filler))

    def _slot(self, slot: str) -> str:
        if not (choices := _choices(self.tool, slot, self.lang)):
            # A value needs a word besides optional ones.
            return rf"(?P<{slot}>(?:{_FILLER}\S+ )*(?!{_FILLER})\S+ (?:\S+ )*?)"
        return f"(?P<{slot}>{'|'.join(map(re.escape, choices))})"

    def match(self, text: Spoken) -> dict[str, str] | None:
        """Return the raw slot values if the pattern fits the whole text, else None."""
        if not self.fixed <= text.stems or len(text.units) > LONGEST_WISH:
            return None
        named = values.parted(text.text, self.lang) if self.timed else ("", text.text)
        fit = self.regex.fullmatch(spoken(named[1], self.lang).line) if named else None
        if named is None or fit is None:
            return None
        slots = {slot: spoken(named[1], self.lang).piece(*fit.span(slot)) for slot in fit.groupdict()}
        # Words on both sides of a time are not one value.
        is_one_text = all(value in text.text for value in slots.values())
        is_time = WHEN not in slots or values.time_in(slots[WHEN], vocabulary(self.lang)) is not None
        is_time = is_time and (bool(self.fixed) or len(slots) != 1 or self._may_stand_alone(*next(iter(slots.items()))))
        slots |= {WHEN: named[0]} if self.timed else {}
        return {name: self._again(value) for name, value in slots.items()} if is_one_text and is_time else None

    def _may_stand_alone(self, slot: str, value: str) -> bool:
        """Tell whether a value alone is a wish: "five more minutes", "the second one", but not "at nine"."""
        if slot == WHEN:
            return is_shift(value, self.lang)
        is_place = not self.owner and values.number(value, vocabulary(self.lang)) is not None
        return is_place or bool(_choices(self.tool, slot, self.lang))

    def _again(self, raw: str) -> str:
        """Return the meaning of words beside the phrase's verb: with some verbs a length of time means a repetition."""
        lexicon = vocabulary(self.lang)
        entries = [entry.split(" | ") for entry in lexicon.phrases("again")]
        meanings = [(once, again) for verb, once, again in entries if {*lexicon.stems(verb)} <= self.fixed]
        return next((raw.replace(once, again) for once, again in meanings if once in raw), raw)

    def is_bounded(self, slot: str, kinds: Mapping[str, Parameter]) -> bool:
        """Tell whether the edges of an open slot's value are certain: fixed words or typed values on both sides.

        The edge of the message counts as a side too, if the phrase has a typed value besides the open one.
        """
        place = [name for name, _ in self.parts].index(slot)
        typed = {it for it in self.slots if it in kinds and kinds[it].kind not in OPEN}
        sides = [self.parts[it] for it in (place - 1, place + 1) if 0 <= it < len(self.parts)]
        # "Put a lid on it" names no list.
        behind = _stems_of(self.parts[-1][1]) if place + 2 == len(self.parts) else frozenset[str]()
        is_vague = bool(behind) and behind <= vocabulary(self.lang).listed("pointing", "stop")
        return bool(len(sides) == 2 or typed) and all(not it or it in typed for it, _ in sides) and not is_vague


def _stems_of(*lines: str) -> frozenset[str]:
    return frozenset(stem.removeprefix(_FILLER) for line in lines for stem in line.split())


@dataclass(frozen=True)
class Match:
    """A text that fits a pattern, and the raw values of the slots."""

    pattern: Pattern
    slots: Mapping[str, str]
    text: str

    @property
    def is_exact(self) -> bool:
        """Whether the text has the fixed words in the example's own forms: "added" is not "add"."""
        lexicon = vocabulary(self.pattern.lang)
        fixed = {*lexicon.spelled(re.sub(r"\{\w+\}", " ", self.pattern.example))}
        # "To-dos" counts as "to-do": a noun may be singular or plural.
        return fixed - lexicon.fillers - {*lexicon.phrases("nouns")} <= {*lexicon.spelled(self.text)}

    def rank(self, own: Collection[str], active: Collection[str]) -> tuple[int, bool, bool, bool, int]:
        """Return the rank: by fixed words and typed values, then by owner: none, one of `active`, or `own` tools."""
        lexicon, pattern = vocabulary(self.pattern.lang), self.pattern
        typed = sum(slot == WHEN or bool(lexicon.choices(pattern.tool, slot)) for slot in self.slots)
        size = sum(len(value) for slot, value in self.slots.items() if slot != WHEN)
        return len(pattern.fixed) + typed, not pattern.owner, pattern.owner in active, pattern.tool in own, -size


@lru_cache(maxsize=10_000)
def pattern(example: str, lang: str, tool: str = "", owner: str = "", *, of_form: bool = False) -> Pattern:
    """Make a pattern of an example phrase; `+word` marks a filler as required."""
    lexicon = vocabulary(lang)
    slots = {slot for slot, _ in _PART.findall(example) if slot}
    timed = slots == {WHEN, "text"}
    texts = _PART.findall(example.replace(f"{{{WHEN}}}", " ") if timed else example)
    telling = [stem for slot, text in texts if not slot for stem in lexicon.stems(text) if stem not in lexicon.fillers]
    # One word alone is too little: "my plan: {plan}" is no "plan {plan}".
    whole = not telling or (bool(slots) and (not lexicon.spaced or len(telling) < 2 or slots == {WHEN}))
    parts: list[tuple[str, str]] = []
    for place, (slot, text) in enumerate(texts):
        stems = [(stem, word) for word in text.split() for stem in lexicon.stems(word)]
        needed = [stem for stem, word in stems if whole or word[0] == "+" or stem not in lexicon.fillers]
        # Two slots need something between them.
        is_between = 0 < place < len(texts) - 1
        parts.append((slot, _line(needed or [stem for stem, _ in stems if is_between], lang)))
    return Pattern(tool, owner, example, lang, tuple(it for it in parts if any(it)), of_form, timed)


@cache
def _openings(lang: str) -> tuple[str, ...]:
    """Return the lines of polite openings, the longest first."""
    lexicon = vocabulary(lang)
    phrases = (*lexicon.phrases("openings"), *lexicon.phrases("polite"))
    return tuple(sorted((_line(lexicon.stems(it), lang) for it in phrases), key=len, reverse=True))


@cache
def _choices(tool: str, slot: str, lang: str) -> tuple[str, ...]:
    """Return the lines of the phrases for a slot with a closed set of values, the longest first."""
    phrases = [phrase for of_value in vocabulary(lang).choices(tool, slot).values() for phrase in of_value]
    return tuple(sorted({_line(vocabulary(lang).stems(it), lang) for it in phrases}, key=len, reverse=True))


@dataclass(frozen=True)
class PhraseSource:
    """A source of example phrases: a tool's card, or a form whose fields the tool fills."""

    tool: str
    owner: str = ""
    form: str | None = None
    examples: tuple[str, ...] = ()
    """The phrases of a remote tool, which has no card."""

    def patterns(self, lang: str) -> Iterator[Pattern]:
        """Yield the patterns of its phrases."""
        for example in card(self.tool, lang)[1] or self.examples:
            yield pattern(example, lang, self.tool, self.owner)
        for field in form_texts(self.form, lang).values() if self.form else ():
            for example in field.get("examples", ()):
                yield pattern(example, lang, self.tool, self.owner, of_form=True)


@dataclass(frozen=True)
class Phrasebook:
    """The example phrases of several sources in one language."""

    lang: str
    patterns: tuple[Pattern, ...]

    def wishes(self, text: str, own: Collection[str], active: Collection[str] = ()) -> tuple[Match, ...]:
        """Return the wishes of a message in order; none if a word belongs neither to a wish nor to small talk."""
        flat, lexicon = plain(text), vocabulary(self.lang)
        places = values.spans(flat, lexicon.between_wishes)
        if len(places) > MOST_PARTS:
            places = [(places[0][0], places[-1][1])]
        whole = self.find(text, own, active) if len(places) > 1 else None
        if whole and all(_choices(whole.pattern.tool, slot, self.lang) for slot in whole.slots):
            # "Turn it off, when it ends": what an example says word by word is one wish.
            return (whole,)

        @cache
        def wishes_from(first: int) -> tuple[Match, ...] | None:
            if first == len(places):
                return ()
            for last in range(first, len(places)):
                piece = flat[places[first][0] : places[last][1]]
                is_polite = bool(lexicon.made_of(piece, "polite"))
                match = None if is_polite else self.find(piece, own, active)
                # "不要再提醒我" is no "no" and an order, though 再 may join two wishes.
                social = SOCIAL if not flat[places[last][1] : places[last][1] + 1].isalnum() else KIND
                is_meant = match or is_polite or (last == first and lexicon.made_of(piece, *social))
                if is_meant and (rest := wishes_from(last + 1)) is not None:
                    return (match, *rest) if match else rest
            return None

        return wishes_from(0) or ()

    def find(self, text: str, own: Collection[str], active: Collection[str] = ()) -> Match | None:
        """Return the best match of the whole text; None if no pattern fits."""
        said = spoken(text, self.lang)
        fits = [Match(it, slots, text) for it in self.patterns if (slots := it.match(said)) is not None]
        if not fits:
            return None
        best = max(fits, key=lambda match: match.rank(own, active))
        # "Add milk to my list" is an example for users; {items} finds the milk in it.
        alike = [match for match in fits if match.pattern.tool == best.pattern.tool and match.slots]
        return best if best.slots or not alike else max(alike, key=lambda match: match.rank(own, active))

    def nearest(self, text: str) -> list[str]:
        """Return the nearest example of each tool, by the words that it shares with a text, in a form for users."""
        lexicon = vocabulary(self.lang)
        telling = {*lexicon.stems(plain(text))} - lexicon.stop
        shares: dict[str, tuple[float, str]] = {}
        for it in self.patterns:
            share = len(telling & it.fixed) / (1 + len(it.fixed))
            shown = re.sub(r"\{\w+\}", "…", it.example.replace("+", ""))
            shares[it.tool] = max(shares.get(it.tool, (0.0, "")), (share, shown))
        return list(dict.fromkeys(shown for share, shown in sorted(shares.values(), reverse=True) if share))


@lru_cache(maxsize=200)
def phrasebook(sources: tuple[PhraseSource, ...], lang: str, edition: object) -> Phrasebook:
    """Gather the example phrases of the sources from an edition of the texts."""
    return Phrasebook(lang, tuple(made for source in sources for made in source.patterns(lang)))
