"""Which ability a text is about: all example phrases in reach, exact fits first, then likeness."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

from agents.models.rules.matches import Match, match
from agents.models.rules.pattern import Pattern, Spoken, pattern, spoken
from agents.models.rules.sentences import vocabulary
from agents.models.rules.values import WHEN, is_answer
from prompts import card, table

LIKE = 0.7
"""Least likeness, of 1, at which a phrase that fits no pattern is still taken for one."""


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
class Phrasebook:
    """The example phrases of several sources in one language."""

    lang: str
    patterns: tuple[Pattern, ...]
    topics: tuple[Pattern, ...] = ()
    """Dialogs without examples; the literals are the words of their name and description."""

    def find(self, text: str) -> Match | None:
        """Return the pattern that fits the whole text and says most, with or without a polite opening."""
        best: tuple[tuple[float, bool, int], Match] | None = None
        for variant in _variants(text, self.lang):
            for candidate in self.patterns:
                slots = match(candidate, variant)
                if slots is None or not self._plausible(candidate, slots):
                    continue
                size = sum(len(value) for slot, value in slots.items() if slot != WHEN)
                rank = (candidate.weight, not candidate.owner, -size)
                if best is None or rank > best[0]:
                    best = rank, Match(candidate, slots, text)
        if best is None or best[0][0] < 1:
            return self._by_topic(text) or (best and best[1])
        return best[1]

    def _by_topic(self, text: str) -> Match | None:
        """Return the dialog without examples two of whose words are said ("plan", "trip"), if there is one alone."""
        stems = set(_variants(text, self.lang)[-1].line.split())
        topics = [topic for topic in self.topics if len(stems & set(topic.literals)) >= min(2, len(topic.literals))]
        is_wish = len(_variants(text, self.lang)) > 1
        return Match(replace(topics[0], slack=not is_wish), {}, text) if len(topics) == 1 else None

    def resemble(self, text: str) -> Match | None:
        """Return the example that is most like the text, if it is like enough; its slots stay empty."""
        words = vocabulary(self.lang)
        stems = set(_variants(text, self.lang)[-1].line.split()) - words.stop
        best: tuple[float, Match] | None = None
        refused = {words.stems(entry)[0] for entry in words.phrases("negation")} & set(words.stems(text))
        for candidate in self.patterns:
            if not refused <= set(candidate.literals):
                continue
            score = 0.0 if candidate.of_form else self._likeness(stems, candidate)
            if score >= LIKE and (best is None or score > best[0]):
                best = score, Match(candidate, {}, text, exact=False)
        return best and best[1]

    def _likeness(self, said: set[str], candidate: Pattern) -> float:
        meant = set(candidate.literals) - vocabulary(self.lang).stop
        return 2 * len(said & meant) / max(len(said) + len(meant), 1)

    def _plausible(self, candidate: Pattern, slots: dict[str, str]) -> bool:
        """Refuse a form's field that would hold no name ("I like it", "I can do everything")."""
        if not candidate.of_form:
            return True
        is_told = len(candidate.literals) > 1 or not candidate.owner
        words = vocabulary(self.lang)
        return is_told and all(is_answer(value, words, may_command=True) for value in slots.values())


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


def _topic(source: Source, lang: str) -> Pattern:
    words = vocabulary(lang)
    stems = [stem for stem in words.stems(source.about) if stem not in words.stop | words.listed("about")]
    literals = tuple(dict.fromkeys(stems))
    return Pattern(source.tool, source.owner, source.about, re.compile(""), literals, float(len(literals)))


def _patterns(source: Source, lang: str) -> Iterable[Pattern]:
    examples = _examples(source, lang)
    card_patterns = [pattern(example, lang, source.tool, source.owner) for example in examples]
    # "For 7" is a time where a time has to be ("set an alarm for {when}"), not anywhere in a sentence.
    placed = [candidate.example for candidate in card_patterns if candidate.timed and "{text}" not in candidate.example]
    card_patterns += [pattern(example, lang, source.tool, source.owner, placed=True) for example in placed]
    slotted = [candidate for candidate in card_patterns if candidate.slotted]
    for candidate in card_patterns:
        # "add milk to my list" is there to be shown; as a pattern it would hide the milk from {items}.
        shown = spoken(candidate.example, lang)
        if candidate.slotted or all(match(other, shown) is None for other in slotted):
            yield candidate
    if source.form:
        for fields in table(f"forms/{source.form}", lang).values():
            for example in fields.get("examples", ()):
                yield pattern(example, lang, source.tool, source.owner, of_form=True)


def _variants(text: str, lang: str) -> list[Spoken]:
    """Return the text, and what is left of it behind one or two polite openings."""
    words = vocabulary(lang)
    variants = [spoken(text, lang)]
    for _ in range(2):
        units = [unit for unit in variants[-1].units]
        while units and units[0].stem in words.fillers:
            units = units[1:]
        stems = tuple(unit.stem for unit in units)
        opening = next((entry for entry in words.openings if stems[: len(entry)] == entry), ())
        if not opening or len(stems) == len(opening):
            break
        variants.append(spoken(variants[-1].text[units[len(opening)].start :], lang))
    return variants
