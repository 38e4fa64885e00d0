"""The words that the rules know of a language, and the rules' own sentences."""

from collections.abc import Mapping
from functools import cache, cached_property
from typing import Any

import prompts
from agents.language.text.vocabulary import Vocabulary
from prompts import FALLBACK, language, languages, table


class RulesVocabulary(Vocabulary):
    """The word lists of a language, those that only the rules read among them."""

    @cached_property
    def table(self) -> Mapping[str, Any]:
        """Return the word lists as they are written, and what the languages are called."""
        lists = {**table("words", self.lang), **table("rules/words", self.lang)}
        names = {lang: [lang, *language(lang).names] for lang in languages()}
        return {**lists, "values": {**lists["values"], "change_language": {"language": names}}}

    @cached_property
    def openings(self) -> tuple[tuple[str, ...], ...]:
        """Return what may stand before a wish, polite beginnings and small talk, the longest first."""
        names = ("openings", "greeting", "thanks", "yes")
        return tuple(sorted({tuple(self.stems(entry)) for name in names for entry in self.phrases(name)}, key=len))[
            ::-1
        ]

    def made_of(self, text: str, *names: str) -> frozenset[str]:
        """Return the lists whose phrases, and fillers, are all that a text says; empty if it says anything else."""
        row = tuple(self.stems(text))
        # For each place that phrases reach without a gap: the lists that they are of.
        reached: dict[int, frozenset[str]] = {0: frozenset()}
        for place in range(len(row)):
            if place not in reached:
                continue
            for phrase, name in _phrases(self, names):
                if row[place : place + len(phrase)] == phrase:
                    reached.setdefault(place + len(phrase), reached[place] | {name})
            if row[place] in self.fillers:
                reached.setdefault(place + 1, reached[place])
        return reached.get(len(row), frozenset())


@cache
def _phrases(words: RulesVocabulary, names: tuple[str, ...]) -> tuple[tuple[tuple[str, ...], str], ...]:
    """Return the phrases of word lists in stems, each with its list, the longest first."""
    pairs = {tuple(words.stems(entry)): name for name in names for entry in words.phrases(name)}
    return tuple(sorted(pairs.items(), key=lambda pair: -len(pair[0])))


@cache
def vocabulary(lang: str) -> RulesVocabulary:
    """Return the word lists of a language, those of the fallback language where it has none."""
    return RulesVocabulary(lang)


def sentence(key: str, lang: str, **variables: object) -> str:
    """Return one of the rules' own sentences ("thanks", "ask.items")."""
    return prompts.sentence("rules/sentences", key, lang, **variables)


def asking(slot: str, lang: str) -> str:
    """Return the question for a missing parameter."""
    questions = {**table("rules/sentences", FALLBACK)["ask"], **table("rules/sentences", lang)["ask"]}
    return sentence(f"ask.{slot}", lang) if slot in questions else sentence("ask.other", lang, name=slot)
