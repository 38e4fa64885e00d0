"""The words that the rules know of a language, and the rules' own sentences."""

from collections.abc import Mapping
from functools import cache, cached_property
from typing import Any

import prompts
from agents.text.vocabulary import Vocabulary
from prompts import FALLBACK, language, languages, table


class RulesVocabulary(Vocabulary):
    """The word lists of a language, those that only the rules read among them."""

    @cached_property
    def table(self) -> Mapping[str, Any]:
        """Return the word lists as they are written, and what the languages are called."""
        lists = {**table("words", self.lang), **table("rules/words", self.lang)}
        names = {lang: [lang, *language(lang).names] for lang in languages()}
        return {**lists, "values": {**lists["values"], "language": names}}


@cache
def vocabulary(lang: str) -> RulesVocabulary:
    """Return the word lists of a language, those of the fallback language where it has none."""
    return RulesVocabulary(lang)


def sentence(key: str, lang: str, **variables: object) -> str:
    """Return one of the rules' own sentences ("more", "ask.items")."""
    return prompts.sentence("rules/sentences", key, lang, **variables)


def asking(slot: str, lang: str) -> str:
    """Return the question for a missing parameter."""
    questions = {**table("rules/sentences", FALLBACK)["ask"], **table("rules/sentences", lang)["ask"]}
    return sentence(f"ask.{slot}", lang) if slot in questions else sentence("ask.other", lang, name=slot)
