"""Which ability a text asks for: all example phrases in reach, held against the whole text."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache

from agents.models.standin.pattern import Match, Pattern, Spoken, pattern, spoken, values_of
from agents.models.standin.sentences import vocabulary
from agents.models.standin.times import names_time
from agents.models.standin.values import WHEN, is_plain, items
from prompts import card, form_texts

FILL_FORM = "fill_form"
ENOUGH = 3
"""Words of a sentence about a field that nobody asked for: "I am" has 2, "I work as" has 3."""


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


@dataclass(frozen=True)
class Topic:
    """A dialog without examples, and the words of its name and description."""

    wish: Pattern
    stems: frozenset[str]


@dataclass(frozen=True)
class Phrasebook:
    """The example phrases of several sources in one language."""

    lang: str
    patterns: tuple[Pattern, ...]
    topics: tuple[Topic, ...] = ()

    def find(self, text: str, fields: frozenset[str] = frozenset()) -> Match | None:
        """Return the pattern that fits the whole text and says most, with or without a polite opening.

        `fields` are those of a form that a short sentence may be about ("I know …").
        """
        matches = [
            Match(candidate, slots, text)
            for variant in _variants(text, self.lang)
            for candidate in self.patterns
            if (slots := candidate.match(variant)) is not None and self._plausible(candidate, slots, fields)
        ]
        if not matches:
            return self._by_topic(text)
        best = max(matches, key=_rank)
        # "Add milk to my list" is an example that is there to be shown; {items} finds the milk in it.
        alike = [match for match in matches if match.tool == best.tool and match.slots]
        return best if best.slots or not alike else max(alike, key=_rank)

    def _by_topic(self, text: str) -> Match | None:
        """Return the dialog without examples two of whose words are said ("plan", "trip"), if there is one alone."""
        stems = _variants(text, self.lang)[-1].stems
        topics = [topic for topic in self.topics if len(stems & topic.stems) >= min(2, len(topic.stems))]
        return Match(topics[0].wish, {}, text) if len(topics) == 1 else None

    def _is_told(self, text: str) -> bool:
        """Tell whether a text is a sentence about a field of a form."""
        heard = spoken(text, self.lang)
        return any(candidate.of_form and candidate.match(heard) is not None for candidate in self.patterns)

    def _plausible(self, candidate: Pattern, slots: dict[str, str], fields: frozenset[str]) -> bool:
        """Refuse values that name nothing ("I like it"), and sentences about a field that are said in passing."""
        words = vocabulary(self.lang)
        if candidate.owner and candidate.literals and candidate.literals <= words.listed("references.nouns"):
            # "The second one" stands on a list that only its own speaker has shown.
            return False
        if candidate.of_form and candidate.said < ENOUGH and not fields >= slots.keys():
            return False
        if candidate.of_form and any(self._is_told(name) for raw in slots.values() for name in items(raw, words)[1:]):
            # "I like hiking and I work as a cook" is no list of what one likes.
            return False
        if WHEN not in slots and "text" in slots and names_time(slots["text"], self.lang):
            # "Remind me to sleep at 25:00" has a time, though none that exists.
            return False
        fills = candidate.of_form or candidate.tool == FILL_FORM
        free = {slot: raw for slot, raw in slots.items() if not values_of(candidate.tool, slot, self.lang)}
        return all(is_plain(raw, slot, words, of_form=fills) for slot, raw in free.items())


def first_match(name: str, text: str, lang: str) -> dict[str, str] | None:
    """Return the slots of the pattern in a word list ("edits.replace") that fits the text and says most."""
    heard = _variants(text, lang)[-1]
    fits = ((candidate, candidate.match(heard)) for candidate in _listed(name, lang))
    weighed = [(candidate.weight, slots) for candidate, slots in fits if slots is not None]
    return max(weighed, key=lambda pair: pair[0])[1] if weighed else None


@cache
def _listed(name: str, lang: str) -> tuple[Pattern, ...]:
    return tuple(pattern(example, lang) for example in vocabulary(lang).phrases(name))


@lru_cache(maxsize=200)
def phrasebook(sources: tuple[Source, ...], lang: str) -> Phrasebook:
    """Gather the example phrases of the sources."""
    patterns = tuple(candidate for source in sources for candidate in _patterns(source, lang))
    topics = tuple(_topic(source, lang) for source in sources if source.about and not _examples(source, lang))
    return Phrasebook(lang, patterns, topics)


def showpiece(tool: str, lang: str) -> str | None:
    """Return the example of a tool's card that can be shown to people as it is."""
    return next((example for example in card(tool, lang)[1] if "{" not in example), None)


def _examples(source: Source, lang: str) -> tuple[str, ...]:
    return card(source.tool, lang)[1] or source.examples


def _topic(source: Source, lang: str) -> Topic:
    words = vocabulary(lang)
    stems = frozenset(words.stems(source.about)) - words.stop - words.listed("about")
    return Topic(Pattern(source.tool, source.owner, source.about, lang, ()), stems)


def _patterns(source: Source, lang: str) -> Iterable[Pattern]:
    examples = _examples(source, lang)
    card_patterns = [pattern(example, lang, source.tool, source.owner) for example in examples]
    # "For 7" is a time where a time has to be ("set an alarm for {when}"), not anywhere in a sentence.
    placed = [candidate.example for candidate in card_patterns if candidate.timed and "{text}" not in candidate.example]
    card_patterns += [pattern(example, lang, source.tool, source.owner, placed=True) for example in placed]
    yield from card_patterns
    if source.form:
        for fields in form_texts(source.form, lang).values():
            for example in fields.get("examples", ()):
                yield pattern(example, lang, source.tool, source.owner, of_form=True)


def _rank(match: Match) -> tuple[float, bool, int]:
    size = sum(len(value) for slot, value in match.slots.items() if slot != WHEN)
    return match.pattern.weight, not match.owner, -size


def _variants(text: str, lang: str) -> list[Spoken]:
    """Return the text, and what is left of it behind one or two polite openings."""
    words = vocabulary(lang)
    variants = [spoken(text, lang)]
    for _ in range(2):
        units = [*variants[-1].units]
        while units and units[0].stem in words.fillers:
            units = units[1:]
        stems = tuple(unit.stem for unit in units)
        opening = next((entry for entry in words.openings if stems[: len(entry)] == entry), ())
        if not opening or len(stems) == len(opening):
            break
        variants.append(spoken(variants[-1].text[units[len(opening)].start :], lang))
    return variants
