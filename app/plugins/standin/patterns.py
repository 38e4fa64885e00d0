"""The wishes of a message: its parts, matched with the examples of all cards in reach.

Each example becomes a pattern: "add {items} to my list" finds the items. Each part of a message must match a pattern
or be small talk. If any word is left over, the message has no wishes.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import chain, dropwhile

from agents.language.schedule.grammar import is_shift, pieces_in
from agents.language.text.stems import plain
from agents.language.text.vocabulary import Unit, wishes
from app.plugins.standin import values
from app.plugins.standin.values import OPEN, REFERRING, WHEN, Parameter
from app.plugins.standin.vocabulary import vocabulary
from prompts import card, form_texts

MOST_PARTS = 12
"""Limit of parts between punctuation and conjunctions; a message with more parts is at most one wish."""
SOCIAL = (*values.SMALL_TALK, "polite")
"""The lists of words beside a wish."""
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
        """Return the plain text of a part of the line, up to the words beside it."""
        first, last = self.line.count(" ", 0, start), self.line.count(" ", 0, end)
        begun = self.units[first - 1].end if first else 0
        ended = self.units[last].start if last < len(self.units) else len(self.text)
        return self.text[begun:ended].strip()


@lru_cache(maxsize=2_000)
def spoken(text: str, lang: str) -> Spoken:
    """Return a text in the form for patterns."""
    flat, lexicon = plain(text), vocabulary(lang)
    units = tuple(lexicon.units(flat))
    stems = [unit.stem for unit in units]
    return Spoken(flat, units, _line(stems, lang), frozenset(stems))


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
        common = lexicon.listed("bare", "ending", "question", "stop", "fillers")
        return bool(self.slots) and not is_chosen and (self.fixed <= common or self.is_duty)

    @cached_property
    def regex(self) -> re.Pattern[str]:
        """Return the regular expression for the line of a text, with or without a polite opening."""
        filler, spaced = rf"(?:{_FILLER}\S+ )*", vocabulary(self.lang).spaced
        before, pieces = "", [rf"(?:{filler}(?:{'|'.join(map(re.escape, _openings(self.lang)))})){{0,2}}"]
        for slot, line in self.parts:
            stems = [f"{re.escape(stem)} " for stem in line.split()] or [self._slot(slot, filler)]
            # Without blanks a filler may be a letter of the value.
            pieces.append(("" if slot or (before and not spaced) else filler) + filler.join(stems))
            before = slot
        return re.compile("".join(pieces) + ("" if before and not spaced else filler))

    def _slot(self, slot: str, filler: str) -> str:
        if not (choices := _choices(self.tool, slot, self.lang)):
            # A value needs a word besides optional ones.
            return rf"(?P<{slot}>{filler}(?!{_FILLER})\S+ (?:\S+ )*?)"
        return f"{filler}(?P<{slot}>{'|'.join(map(re.escape, choices))})"

    def match(self, text: Spoken) -> dict[str, str] | None:
        """Return the raw slot values if the pattern fits the whole text, else None."""
        named = values.parted(text.text, self.lang) if self.timed else ("", text.text)
        if named is None or not self.fixed <= text.stems:
            return None
        rest = spoken(named[1], self.lang)
        fit = self.regex.fullmatch(rest.line)
        slots = {slot: rest.piece(*fit.span(slot)) for slot in fit.groupdict()} if fit else {}
        # Words on both sides of a time are not one value.
        is_one_text = fit is not None and all(value in text.text for value in slots.values())
        is_fit = WHEN not in slots or values.time_in(slots[WHEN], vocabulary(self.lang)) is not None
        # "A timer for 5 minutes and one for 10" does not ask for "5 minutes and one".
        is_fit = is_fit and not (WHEN in slots and pieces_in(slots.get("text", ""), self.lang))
        # "What is done" names no entry.
        is_fit = is_fit and not any(vocabulary(self.lang).asks(slots.get(it, "").strip("?？")) for it in REFERRING)
        # "Play 9 to 5" is no play at that time.
        is_order = len(rest.units) > 1 or not values.begins_with_number(named[0], vocabulary(self.lang))
        if not (is_one_text and is_fit and (self.fixed or (is_order and self._is_value(slots, rest.text)))):
            return None
        if slots and (self.is_duty or self.fixed <= vocabulary(self.lang).stop) and self._says_nothing(slots):
            return None
        slots |= {WHEN: named[0]} if self.timed else {}
        return {name: self._again(value) for name, value in slots.items()}

    def _is_value(self, slots: Mapping[str, str], text: str) -> bool:
        """Tell whether a value alone is a wish: one of few ("louder"), an order for later, a shift, a number."""
        if any(_choices(self.tool, it, self.lang) for it in slots):
            return True
        if self.timed:
            return bool(slots) and wishes(text, self.lang)
        if WHEN in slots:
            return len(slots) == 1 and is_shift(slots[WHEN], self.lang)
        # "2" is one of the films on the screen while their dialog leads.
        return not self.owner and values.number(text, vocabulary(self.lang)) is not None

    @cached_property
    def is_duty(self) -> bool:
        """Whether its words only open a wish: "I need to {items}"."""
        lines = [line for _, line in self.parts if line]
        return len(lines) == 1 < len(self.parts) and lines == [self.parts[0][1]] and lines[0] in _duties(self.lang)

    def _says_nothing(self, slots: Mapping[str, str]) -> bool:
        """Tell whether an open value says nothing ("I need to sleep", "I need a moment"), or is another wish."""
        lexicon = vocabulary(self.lang)
        opened = [raw for slot, raw in slots.items() if slot != WHEN and not _choices(self.tool, slot, self.lang)]
        if any(values.vague(raw, lexicon) or lexicon.made_of(raw, *SOCIAL) for raw in opened):
            return True
        if self.is_duty:
            # "I need time to think" and "I have to admit you are good" are nothing to do.
            idle, remark = lexicon.stop | lexicon.listed("idle"), {*lexicon.phrases("sentence")}
            return any({*lexicon.stems(raw)} <= idle or remark & {*lexicon.spelled(raw)} for raw in opened)
        telling = [" ".join(dropwhile(lexicon.stop.__contains__, lexicon.spelled(raw))) for raw in opened if self.fixed]
        begun = {word for raw in opened for word in lexicon.spelled(raw)[:1] if self.fixed and lexicon.spaced}
        return bool(begun & {*lexicon.phrases("beside")}) or any(wishes(it, self.lang) for it in telling)

    def _again(self, raw: str) -> str:
        """Return the meaning of words beside the phrase's verb: with some verbs a length of time means a repetition."""
        lexicon = vocabulary(self.lang)
        entries = [entry.split(" | ") for entry in lexicon.phrases("again")]
        meanings = [(once, again) for verb, once, again in entries if {*lexicon.stems(verb)} <= self.fixed]
        return next((raw.replace(once, again) for once, again in meanings if once in raw), raw)

    def is_bounded(self, slot: str, kinds: Mapping[str, Parameter]) -> bool:
        """Tell whether fixed words, typed values or, beside a typed value, an edge bound an open slot on both sides."""
        place = [name for name, _ in self.parts].index(slot)
        typed = {it for it in self.slots if it in kinds and kinds[it].kind not in OPEN}
        sides = [self.parts[it] for it in (place - 1, place + 1) if 0 <= it < len(self.parts)]
        # "Put a lid on it" names no list.
        behind = _stems_of(self.parts[-1][1]) if place + 2 == len(self.parts) else frozenset[str]()
        is_vague = bool(behind) and behind <= vocabulary(self.lang).listed("pointing", "stop")
        has_sides = bool(self.fixed) and bool(len(sides) == 2 or typed)
        return has_sides and all(not it or it in typed for it, _ in sides) and not is_vague


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
        """Whether the text has the words in the example's own forms: "added" is not "add"."""
        lexicon, pattern = vocabulary(self.pattern.lang), self.pattern
        fixed = {*lexicon.spelled(re.sub(r"\{\w+\}", " ", pattern.example))}
        phrases = {slot: " ".join(chain(*lexicon.choices(pattern.tool, slot).values())) for slot in self.slots}
        odd = [{*lexicon.spelled(self.slots[it])} - {*lexicon.spelled(text)} for it, text in phrases.items() if text]
        # "To-dos" counts as "to-do": a noun may be singular or plural.
        is_fixed = fixed - lexicon.fillers - {*lexicon.phrases("nouns")} <= {*lexicon.spelled(self.text)}
        return is_fixed and {*chain(*odd)} <= lexicon.fillers

    def rank(self, own: Collection[str], active: Collection[str]) -> tuple[bool | int, ...]:
        """Return the rank: by fixed words and typed values, by owner (none, `active`, `own` tools), by a word ahead."""
        lexicon, pattern = vocabulary(self.pattern.lang), self.pattern
        typed = sum(slot == WHEN or bool(lexicon.choices(pattern.tool, slot)) for slot in self.slots)
        size = sum(len(value) for slot, value in self.slots.items() if slot != WHEN)
        # "Play Metropolis at 8" is for later: it is not the title of a film.
        names = [text for slot, text in self.slots.items() if slot.endswith(("_id", "_ids", "brief"))]
        is_name = not any(values.holds_time(it, lexicon) for it in names)
        by_owner = not pattern.owner, pattern.owner in active, pattern.tool in own
        # "I need to cancel my order" is no to-do.
        return is_name, not pattern.is_duty, len(pattern.fixed) + typed, *by_owner, not pattern.parts[0][0], -size


@lru_cache(maxsize=10_000)
def pattern(example: str, lang: str, tool: str = "", owner: str = "", *, of_form: bool = False) -> Pattern:
    """Make a pattern of an example phrase; `+word` marks a filler as required."""
    lexicon = vocabulary(lang)
    slots = {slot for slot, _ in _PART.findall(example) if slot}
    timed = slots == {WHEN, "text"}
    texts = _PART.findall(example.replace(f"{{{WHEN}}}", " ") if timed else example)
    telling = {stem for _, text in texts for stem in lexicon.stems(text)} - lexicon.fillers
    # One word alone is too little: "my plan: {plan}" does not say "plan {plan}".
    is_short = not telling or (bool(slots) and (len(telling) < 2 or not lexicon.spaced or slots == {WHEN}))
    spare = frozenset[str]() if is_short else lexicon.fillers
    words = [(slot, [(it, word) for word in text.split() for it in lexicon.stems(word)]) for slot, text in texts]
    needed = [(slot, [it for it, word in row if word[0] == "+" or it not in spare]) for slot, row in words]
    parts = tuple((slot, _line(stems, lang)) for slot, stems in needed if slot or stems)
    return Pattern(tool, owner, example, lang, parts, of_form, timed)


@cache
def _openings(lang: str) -> tuple[str, ...]:
    """Return the lines of polite openings, the longest first."""
    lexicon = vocabulary(lang)
    phrases = (*lexicon.phrases("openings"), *lexicon.phrases("duties"), *lexicon.phrases("polite"))
    return tuple(sorted((_line(lexicon.stems(it), lang) for it in phrases), key=len, reverse=True))


@cache
def _duties(lang: str) -> frozenset[str]:
    lexicon = vocabulary(lang)
    return frozenset(_line(lexicon.stems(it), lang) for it in lexicon.phrases("duties"))


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

        @cache
        def wishes_from(first: int) -> tuple[Match, ...] | None:
            if first == len(places):
                return ()
            for last in range(first, len(places)):
                piece = flat[places[first][0] : places[last][1]]
                match = self.find(piece, own, active)
                # "不要再提醒我" is not a "no" with an order, though 再 may join two wishes.
                is_clause = last == first and not flat[places[last][1] :][:1].isalnum()
                is_meant = match or (is_clause and lexicon.made_of(piece, *SOCIAL))
                if is_meant and (rest := wishes_from(last + 1)) is not None:
                    return (match, *rest) if match else rest
            return None

        return wishes_from(0) or ()

    def find(self, text: str, own: Collection[str], active: Collection[str] = ()) -> Match | None:
        """Return the best match of the whole text; None if no pattern fits."""
        words = spoken(text, self.lang)
        fits = [Match(it, slots, text) for it in self.patterns if (slots := it.match(words)) is not None]
        if not fits:
            return None
        best = max(fits, key=lambda match: match.rank(own, active))
        if best.pattern.owner and best.pattern.is_weak:
            # "Stop it" is rather for the speaker than for another's entry.
            best = max((it for it in fits if not it.pattern.owner), key=lambda it: it.rank(own, active), default=best)
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
