"""Which abilities a message asks for: all example phrases in reach, held against its parts.

A message is cut into parts that each mean something; one with a rest means nothing.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from agents.language.text.stems import plain
from agents.models.standin.pattern import Match, Pattern, Spoken, pattern, spoken, values_of
from agents.models.standin.values import QUOTED, WHEN, is_plain, is_unfinished, items, names_time
from agents.models.standin.vocabulary import vocabulary
from prompts import card, form_texts

FILL_FORM = "fill_form"
ENOUGH_SAID = 3
"""Words of a sentence about a field that nobody asked for: "I am" has 2, "I work as" has 3."""
MOST_PARTS = 12
"""Parts of a message between punctuation and conjunctions; a longer message is a story."""
SOCIAL = ("thanks", "greeting", "goodbye", "yes", "no", "how_are_you", "cancel")


@dataclass(frozen=True)
class Source:
    """Where example phrases come from: a tool's card, or a form whose fields the tool fills."""

    tool: str
    owner: str = ""
    form: str | None = None
    examples: tuple[str, ...] = ()
    """Phrases that came with a remote tool, which has no card."""
    about: str = ""
    """The name and the description of a dialog, whose words stand in for examples where it has none."""

    def phrases(self, lang: str) -> tuple[str, ...]:
        """Return what people say who want the tool."""
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
        """Return the wishes of a message in order; none if any of its words belongs to no wish and is no small talk.

        Of several ways to cut the message the one with the most wishes counts. `fields` are those of a form that a
        short sentence may be about ("I know …").
        """
        flat = plain(text)
        parts = _parts(flat, self.lang)
        if len(parts) > MOST_PARTS or is_unfinished(flat, vocabulary(self.lang)):
            return ()
        # The wishes of all parts from a place on; None where a part means nothing.
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

    def _find(self, text: str, fields: frozenset[str]) -> Match | None:
        """Return the pattern that fits the whole text and says most, with or without a polite opening."""
        matches = [
            Match(candidate, slots, text)
            for variant in _variants(text, self.lang)
            for candidate in self.patterns
            if (slots := candidate.match(variant)) is not None and self._is_plausible(candidate, slots, fields)
        ]
        if not matches:
            return self._by_topic(text)
        best = max(matches, key=_rank)
        # "Add milk to my list" is an example that is there to be shown; {items} finds the milk in it.
        alike = [match for match in matches if match.tool == best.tool and match.slots]
        return best if best.slots or not alike else max(alike, key=_rank)

    def _by_topic(self, text: str) -> Match | None:
        """Return the dialog without examples two of whose words are said ("plan", "trip"), if there is one alone."""
        said = _variants(text, self.lang)[-1].stems
        meant = [wish for wish, stems in self.topics if len(said & stems) >= min(2, len(stems))]
        return Match(meant[0], {}, text) if len(meant) == 1 else None

    def _is_plausible(self, candidate: Pattern, slots: dict[str, str], fields: frozenset[str]) -> bool:
        """Refuse values that name nothing ("I like it"), and sentences about a field that are said in passing."""
        lexicon = vocabulary(self.lang)
        if candidate.owner and candidate.literals and candidate.literals <= lexicon.listed("references.nouns"):
            # "The second one" stands on a list that only its own speaker has shown.
            return False
        if candidate.of_form and not (fields >= slots.keys() or candidate.said >= ENOUGH_SAID):
            return False
        if candidate.of_form and any(self._is_told(name) for raw in slots.values() for name in items(raw, lexicon)[1:]):
            # "I like hiking and I work as a cook" does not list what one likes.
            return False
        if WHEN not in slots and "text" in slots and names_time(slots["text"], self.lang):
            # "Remind me to sleep at 25:00" has a time, though none that exists.
            return False
        fills = candidate.of_form or candidate.tool == FILL_FORM
        free = {slot: raw for slot, raw in slots.items() if not values_of(candidate.tool, slot, self.lang)}
        return all(is_plain(raw, slot, lexicon, of_form=fills) for slot, raw in free.items())

    def _is_told(self, text: str) -> bool:
        heard = spoken(text, self.lang)
        return any(candidate.of_form and candidate.match(heard) is not None for candidate in self.patterns)


@lru_cache(maxsize=200)
def phrasebook(sources: tuple[Source, ...], lang: str) -> Phrasebook:
    """Gather the example phrases of the sources."""
    lexicon = vocabulary(lang)
    empty = lexicon.stop | lexicon.listed("about")
    topics = [
        (Pattern(source.tool, source.owner, source.about, lang, ()), frozenset(lexicon.stems(source.about)) - empty)
        for source in sources
        if source.about and not source.phrases(lang)
    ]
    return Phrasebook(lang, tuple(made for source in sources for made in source.patterns(lang)), tuple(topics))


def _rank(match: Match) -> tuple[float, bool, int]:
    size = sum(len(value) for slot, value in match.slots.items() if slot != WHEN)
    return match.pattern.weight, not match.owner, -size


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
    """Return the spans between punctuation and conjunctions; what stands in quotation marks stays whole."""
    joined = vocabulary(lang).conjunctions
    boundary = re.compile(rf"(?:[,;:!?.\n—]+(?:\s+|$))+(?:{joined}\s+)?|\s+{joined}\s+", re.IGNORECASE)
    quoted = [cut.span() for cut in QUOTED.finditer(flat)]
    cuts = [cut.span() for cut in boundary.finditer(flat)]
    free = [cut for cut in cuts if not any(begin < cut[0] < end for begin, end in quoted)]
    spans = zip([0, *(end for _, end in free)], [*(start for start, _ in free), len(flat)], strict=True)
    return [(begin, end) for begin, end in spans if flat[begin:end].strip()]
