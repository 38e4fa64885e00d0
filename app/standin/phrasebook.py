"""Which abilities a message asks for: all example phrases in reach, held against its parts.

An example phrase is made into a pattern: "add {items} to my list" finds the items. A message is cut into parts that
each mean something. If any word is left over, the message means nothing.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache

from agents.language.text.stems import is_slip, plain, words
from agents.language.text.vocabulary import Unit
from app.standin import values
from app.standin.values import NOTE, REFERRING, WHEN
from app.standin.vocabulary import vocabulary
from prompts import card, form_texts

FILL_FORM = "fill_form"
ENOUGH_SAID = 3
"""Words that a sentence about an unasked field needs: "I am" has 2, "I work as" has 3."""
MOST_PARTS = 12
"""Parts of a message between punctuation and conjunctions; a message with more parts is at most one wish."""
SHORTEST_SLIP = 4
"""Letters that a word needs before a slip in it is put right."""
SOCIAL = ("thanks", "greeting", "goodbye", "wait", "yes", "no", "how_are_you", "cancel")
_PART = re.compile(r"\{(\w+)\}|([^{}]+)")
_OPENED, _CLOSED = re.compile(r"[^\s\w,.;:!?]+$"), re.compile(r"[^\s\w,.;:!?]+")
_FILLER = "~"
"""Stands before the stem of a word that may be said or left out."""
LONGEST_WISH = 120
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
    return Spoken(flat, lang, units, _line([unit.stem for unit in units], lang))


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

    @cached_property
    def weight(self) -> float:
        """Return how much the phrase says: a word, a time and a value of a closed set count 1, an opening 0.5."""
        stems = tuple(stem for _, line in self.parts for stem in line.split())
        opening = next((entry for entry in vocabulary(self.lang).openings if stems[: len(entry)] == entry), ())
        closed = sum(bool(values_of(self.tool, slot, self.lang)) for slot in self.slots)
        return len(stems) - len(opening) + 0.5 * bool(opening) + closed + (WHEN in self.slots)

    @property
    def strong(self) -> bool:
        """Whether a match can hardly be an answer to another question."""
        alone = self.slots and self.weight < 2 and self.literals <= vocabulary(self.lang).listed("edits.alone")
        return bool(self.parts) and not alone

    @property
    def points(self) -> bool:
        """Whether it speaks of an entry in a list."""
        return not self.slots.isdisjoint(REFERRING)

    @cached_property
    def regex(self) -> re.Pattern[str]:
        """Return the expression that fits the line of a text."""
        filler = rf"(?:{_FILLER}\S+ )*"
        pieces: list[str] = []
        spaced, before = vocabulary(self.lang).spaced, ""
        for slot, line in self.parts:
            stems = [f"{re.escape(stem)} " for stem in line.split()] or [self._slot(slot)]
            # "An" is a filler elsewhere, but "an hour" is a time, and "my car" is the user's.
            # Without blanks a filler beside a slot may be a letter of the value.
            bare = slot in (WHEN, NOTE) or (slot and not spaced)
            first = "" if bare or (before and not spaced) else filler
            pieces.append(first + filler.join(stems))
            before = slot
        return re.compile("".join(pieces) + ("" if before and not spaced else filler))

    def _slot(self, slot: str) -> str:
        if not (choices := values_of(self.tool, slot, self.lang)):
            # A value needs a word besides the optional ones.
            return rf"(?P<{slot}>(?:{_FILLER}\S+ )*(?!{_FILLER})\S+ (?:\S+ )*?)"
        lines = {_line(vocabulary(self.lang).stems(" ".join(value)), self.lang) for value in choices}
        return f"(?P<{slot}>{'|'.join(re.escape(line) for line in sorted(lines, key=len, reverse=True))})"

    def match(self, text: Spoken) -> dict[str, str] | None:
        """Return the raw slot values if the pattern fits the whole text, else None."""
        if not self.literals <= text.stems or len(text.units) > LONGEST_WISH:
            return None
        # "No, the timer at 5" is a correction; "no timer at 5" is no wish for a timer.
        is_negated = self.points and "," in self.example and "," not in text.text
        if is_negated or self._is_told(text):
            return None
        if not self.timed:
            return self._fit(text)
        named = values.parted(text.text, text.lang)
        slots = self._fit(spoken(named[1], text.lang)) if named else None
        if named is None or slots is None:
            return None
        # Words on both sides of a time are not one thing to do.
        is_one_text = all(value in text.text for value in slots.values())
        return {**slots, WHEN: self._when(named[0], text.lang)} if is_one_text else None

    def _is_told(self, text: Spoken) -> bool:
        """Tell whether the text has a word of the phrase in the past: who says what happened wishes for nothing."""
        said = (f" {text.text[unit.start : unit.end]}" for unit in text.units if unit.stem in self.literals)
        endings = tuple(vocabulary(text.lang).phrases("answers.told"))
        return any(word.endswith(endings) and word[1:] not in words(self.example, 1) for word in said)

    def _when(self, raw: str, lang: str) -> str:
        """Return the words of a time; for "snooze" a length of time is the delay, and «напоминай» is no single time."""
        lexicon = vocabulary(self.lang)
        if self.literals & lexicon.listed("edits.repeat"):
            for once, again in zip(lexicon.phrases("edits.once"), lexicon.phrases("edits.again"), strict=True):
                raw = raw.replace(once, again)
        return values.later(raw, vocabulary(lang)) if self.literals & lexicon.listed("edits.postpone") else raw

    def _fit(self, text: Spoken) -> dict[str, str] | None:
        if (fit := self.regex.fullmatch(text.line)) is None:
            return None
        slots = {slot: text.piece(*fit.span(slot)) for slot in fit.groupdict()}
        if WHEN in slots:
            slots[WHEN] = self._when(slots[WHEN], text.lang)
            if values.time_in(slots[WHEN], vocabulary(text.lang)) is None:
                return None
        closed = ((slot, values_of(self.tool, slot, text.lang)) for slot in slots)
        return (
            slots if all(not choices or tuple(words(slots[slot], 1)) in choices for slot, choices in closed) else None
        )


@dataclass(frozen=True)
class Match:
    """A piece of text that a pattern fits, and the raw values of its slots."""

    pattern: Pattern
    slots: dict[str, str]
    text: str


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
    lines = ["" if slot else _needed(text, lang, place > 0, place < last) for place, (slot, text) in enumerate(texts)]
    for place, (slot, text) in enumerate(texts):
        # Two slots need something between them, and a phrase of fillers only would fit everything.
        if not slot and not lines[place] and (not any(lines) or 0 < place < last):
            lines[place] = _line(vocabulary(lang).stems(text), lang)
    parts = tuple((slot, line) for (slot, _), line in zip(texts, lines, strict=True) if slot or line)
    return Pattern(tool, owner, example, lang, parts, of_form, timed)


@cache
def values_of(tool: str, slot: str, lang: str) -> frozenset[tuple[str, ...]]:
    """Return what a slot with a closed set of values may say, word for word: endings tell "done" from "to do"."""
    lexicon, name = vocabulary(lang), values.values_list(tool, slot)
    phrases = (phrase for value in lexicon.phrases(name) for phrase in lexicon.phrases(f"{name}.{value}"))
    return frozenset(tuple(words(phrase, 1)) for phrase in phrases)


def _needed(text: str, lang: str, behind_slot: bool, before_slot: bool) -> str:
    """Return the line of what must be said; without blanks that is also each filler beside a slot."""
    lexicon = vocabulary(lang)
    stems = [(stem, word) for word in text.split() for stem in lexicon.stems(word)]
    needed = [place for place, (stem, word) in enumerate(stems) if word[0] == "+" or stem not in lexicon.fillers]
    if needed and not lexicon.spaced:
        needed = [*range(needed[0] * behind_slot), *needed, *range(needed[-1] + 1, len(stems) * before_slot)]
    return _line([stems[place][0] for place in needed], lang)


def _line(stems: list[str], lang: str) -> str:
    fillers = vocabulary(lang).fillers
    return "".join(f"{_FILLER if stem in fillers else ''}{stem} " for stem in stems)


@dataclass(frozen=True)
class PhraseSource:
    """Where example phrases come from: a tool's card, or a form whose fields the tool fills."""

    tool: str
    owner: str = ""
    form: str | None = None
    examples: tuple[str, ...] = ()
    """Phrases of a remote tool, which has no card."""
    about: str = ""
    """The name and the description of a dialog, whose words stand in for examples where it has none."""

    def phrases(self, lang: str) -> tuple[str, ...]:
        """Return what people say when they want the tool."""
        return card(self.tool, lang)[1] or self.examples

    def patterns(self, lang: str) -> Iterator[Pattern]:
        """Yield the patterns of its phrases."""
        for example in self.phrases(lang):
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
    topics: tuple[tuple[Pattern, frozenset[str]], ...] = ()
    """The dialogs without examples, each with the stems of its name and description."""

    def wishes(self, text: str, fields: frozenset[str] = frozenset()) -> tuple[Match, ...]:
        """Return the wishes of a message in order; empty if a word belongs neither to a wish nor to small talk.

        Of several ways to cut the message the one with the most wishes counts. `fields` are those of a form that a
        short sentence may be about ("I know …").
        """
        flat = plain(text)
        parts = _parts(flat, self.lang)
        if len(parts) > MOST_PARTS:
            # As a whole, only a long list is still clear.
            parts = [(parts[0][0], parts[-1][1])]
        if values.is_unfinished(flat, vocabulary(self.lang)):
            return ()
        # The wishes of all parts from a place on; None if one of the parts means nothing.
        behind: dict[int, tuple[Match, ...] | None] = {len(parts): ()}
        for first in reversed(range(len(parts))):
            ways: list[tuple[Match, ...]] = []
            for last in range(first, len(parts)):
                rest, piece = behind[last + 1], flat[parts[first][0] : parts[last][1]]
                if rest is None:
                    continue
                if first == last and vocabulary(self.lang).made_of(piece, *SOCIAL):
                    ways.append(rest)
                elif wish := self._find(piece, fields):
                    ways.append((wish, *rest))
            behind[first] = max(ways, key=len, default=None)
        return behind[0] or ()

    def with_verbs(self, wishes: tuple[Match, ...]) -> tuple[Match, ...]:
        """Give a bare noun the verb of the wish before it: "delete all my to-dos and reminders" is two deletions."""
        completed_wishes: list[Match] = []
        nouns = vocabulary(self.lang).listed("references.nouns")
        for wish in wishes:
            is_bare_noun = not wish.slots and wish.pattern.literals <= nouns
            if is_bare_noun and completed_wishes and completed_wishes[-1].pattern.points:
                before = completed_wishes[-1].text.split()
                texts = (f"{' '.join(before[:end])} {wish.text}" for end in range(len(before) - 1, 0, -1))
                named = (
                    completed for text in texts if (completed := self._find(text, frozenset())) and completed.slots
                )
                wish = next(named, wish)
            completed_wishes.append(wish)
        return tuple(completed_wishes)

    def corrected(self, text: str) -> str | None:
        """Return a text whose first word is a verb of the phrases with a slip of one letter, put right; else None."""
        heard = _variants(plain(text), self.lang)[-1].text
        first = next(iter(words(heard, 1)), "")
        lexicon = vocabulary(self.lang)
        sayable = lexicon.stop | lexicon.listed("answers.chatter", "answers.chores", "negation")
        is_word = first in self._verbs or not sayable.isdisjoint(lexicon.stems(first))
        if is_word or first in lexicon.words_of("answers.sentence") or len(first) < SHORTEST_SLIP:
            return None
        # A longer word may be another form, and one wrong letter another word: "charge" is not "change".
        near = {verb for verb in self._verbs if verb[0] == first[0] and not first.startswith(verb)}
        alike = {verb for verb in near if len(first) != len(verb) or sorted(first) == sorted(verb)}
        meant = {verb for verb in alike if is_slip(first, verb)}
        return f"{meant.pop()} {heard.partition(' ')[2]}" if len(meant) == 1 else None

    @cached_property
    def _verbs(self) -> frozenset[str]:
        return frozenset(
            first for it in self.patterns for first in words(it.example, 1)[:1] if len(first) >= SHORTEST_SLIP
        )

    def _find(self, text: str, fields: frozenset[str]) -> Match | None:
        """Return the pattern that fits the whole text and says most, with or without a polite opening."""
        variants = _variants(text, self.lang)
        lexicon = vocabulary(self.lang)
        if any(lexicon.is_saying(it.text) or values.is_remark(it.text, lexicon) for it in variants):
            return None
        matches = [
            Match(candidate, slots, text)
            for variant in variants
            for candidate in self.patterns
            if (slots := candidate.match(variant)) is not None and self._is_plausible(candidate, slots, fields)
        ]
        if not matches:
            return self._by_topic(text)
        best = max(matches, key=_rank)
        # "Add milk to my list" is an example that is shown to users; {items} finds the milk in it.
        alike = [match for match in matches if match.pattern.tool == best.pattern.tool and match.slots]
        return best if best.slots or not alike else max(alike, key=_rank)

    def _by_topic(self, text: str) -> Match | None:
        """Return the dialog without examples two of whose words are said ("plan", "trip"), if there is one alone."""
        spoken_stems = _variants(text, self.lang)[-1].stems
        meant = [wish for wish, stems in self.topics if len(spoken_stems & stems) >= min(2, len(stems))]
        return Match(meant[0], {}, text) if len(meant) == 1 else None

    def _is_plausible(self, candidate: Pattern, slots: dict[str, str], fields: frozenset[str]) -> bool:
        """Refuse values that name nothing ("I like it"), and passing remarks about a field."""
        lexicon = vocabulary(self.lang)
        if candidate.owner and candidate.literals and candidate.literals <= lexicon.listed("references.nouns"):
            # "The second one" refers to a list that only its own speaker has shown.
            return False
        needed = [stem for _, line in candidate.parts for stem in line.split() if not stem.startswith(_FILLER)]
        if candidate.of_form and len(needed) < ENOUGH_SAID and not fields >= slots.keys():
            return False
        later_items = [item for raw in slots.values() for item in values.items(raw, lexicon)[1:]]
        if candidate.of_form and any(map(self._is_told, later_items)):
            # "I like hiking and I work as a cook" does not list what one likes.
            return False
        if WHEN not in slots and "text" in slots and values.names_time(slots["text"], self.lang):
            # "Remind me to sleep at 25:00" names a time, though an impossible one.
            return False
        note = slots.get(NOTE, "")
        is_slight = len(candidate.literals) <= (1 if lexicon.spaced else 2)
        feeling = lexicon.listed("answers.chatter", "answers.sentence") | lexicon.stop
        if is_slight and lexicon.begins(note, "answers.self") and feeling.issuperset(lexicon.stems(note)):
            # "Note: I am not happy" is an aside.
            return False
        pointed = [it for slot, it in slots.items() if slot in REFERRING and not lexicon.means(it, "references.all")]
        if pointed and candidate.literals and candidate.literals <= lexicon.listed("edits.clearing"):
            # "Clear the list" deletes, "clear the table" does not.
            return False
        if any(lexicon.asks(it) or (candidate.owner and not values.is_plain(it, "", lexicon)) for it in pointed):
            # «Кто тебя сделал» marks nothing as done, and "delete my whole life while you are at it" names nothing.
            return False
        if values.is_time(added := slots.get("items", ""), lexicon) or values.is_amount(added, lexicon):
            # "Add five more minutes" is about a timer, and nobody buys "time".
            return False
        named = [raw for slot, raw in slots.items() if slot not in (WHEN, NOTE)]
        if candidate.weight < 2 and any(lexicon.begins(raw, "answers.prepositions") for raw in named):
            # "Skip to …" is another verb than "skip …".
            return False
        fills = candidate.of_form or candidate.tool == FILL_FORM
        free = {slot: raw for slot, raw in slots.items() if not values_of(candidate.tool, slot, self.lang)}
        return all(values.is_plain(raw, slot, lexicon, of_form=fills) for slot, raw in free.items())

    def _is_told(self, text: str) -> bool:
        heard = spoken(text, self.lang)
        return any(candidate.of_form and candidate.match(heard) is not None for candidate in self.patterns)


@lru_cache(maxsize=200)
def phrasebook(sources: tuple[PhraseSource, ...], lang: str) -> Phrasebook:
    """Gather the example phrases of the sources."""
    lexicon = vocabulary(lang)
    empty = lexicon.stop | lexicon.listed("about")
    topics = [
        (
            Pattern(source.tool, source.owner, source.about, lang, ()),
            frozenset(stem for stem in lexicon.stems(source.about) if len(stem) > 1) - empty,
        )
        for source in sources
        if source.about and not source.phrases(lang)
    ]
    return Phrasebook(lang, tuple(made for source in sources for made in source.patterns(lang)), tuple(topics))


def _rank(match: Match) -> tuple[float, bool, int]:
    size = sum(len(value) for slot, value in match.slots.items() if slot != WHEN)
    return match.pattern.weight, not match.pattern.owner, -size


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


def _parts(flat: str, lang: str) -> list[tuple[int, int]]:
    """Return the spans between punctuation, conjunctions and tails; what stands in quotation marks stays whole."""
    return values.spans(flat, vocabulary(lang).between_wishes)
