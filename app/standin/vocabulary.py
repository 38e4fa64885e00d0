"""The words that the stand-in knows of a language, and its own sentences.

General lists stand in `prompts/<lang>/standin/`, those of a dialog's tools in `prompts/<lang>/<dialog>/standin.toml`.
"""

import re
from collections.abc import Mapping
from functools import cache, cached_property
from typing import Any

import prompts
from agents.language.text.stems import words
from agents.language.text.vocabulary import Vocabulary
from prompts import FALLBACK, language, languages, table


class StandinVocabulary(Vocabulary):
    """The word lists of a language, including those that only the stand-in reads."""

    @cached_property
    def table(self) -> Mapping[str, Any]:
        """Return the word lists as they are written, and what the languages are called."""
        names = {lang: [lang, *language(lang).names] for lang in languages()}
        lists: dict[str, Any] = {**table("words", self.lang), "values": {"change_language": {"language": names}}}
        dialogs = [path.parent.name for path in prompts.files(FALLBACK, "*/standin.toml")]
        for file in ("standin/words", *(f"{dialog}/standin" for dialog in dialogs)):
            for name, entry in table(file, self.lang).items():
                lists[name] = {**lists.get(name, {}), **entry} if isinstance(entry, dict) else entry
        return lists

    @cached_property
    def openings(self) -> tuple[tuple[str, ...], ...]:
        """Return what may stand before a wish, such as polite beginnings and small talk, longest first."""
        # Without blanks a word such as "yes" may also be the beginning of another word.
        names = ("openings", "greeting", "thanks", "yes") if self.spaced else ("openings",)
        entries = [entry for name in names for entry in self.phrases(name)]
        return tuple(sorted({tuple(self.stems(entry)) for entry in entries}, key=len, reverse=True))

    @property
    def spaced(self) -> bool:
        """Whether blanks stand between the words of the language."""
        return language(self.lang).spaced

    @cached_property
    def between_items(self) -> re.Pattern[str]:
        """Return what stands between the items of an enumeration."""
        joined, gap, joint = self._joining
        return re.compile(rf"(?:\s*[,;、\n]+\s*|\.\s+|。)(?:{joined}{gap})?|{joint}", re.IGNORECASE)

    @cached_property
    def between_wishes(self) -> re.Pattern[str]:
        """Return what stands between two wishes: punctuation, conjunctions, or words such as "at volume"."""
        joined, gap, joint = self._joining
        mark = r"[,;:!?.\n—]+(?:\s+|$)" if self.spaced else r"(?:(?<!\d)[,;!?、。\n—]+|[,;!?、。\n—]+(?!\d)|\.\s)\s*"
        # Words that begin a wish of their own right behind another one.
        tail = self._one_of("tails")
        return re.compile(rf"(?:{mark})+(?:{joined}{gap})?|{joint}|{gap}(?={tail}{gap})", re.IGNORECASE)

    @cached_property
    def _joining(self) -> tuple[str, str, str]:
        """Return the expressions for a conjunction, a blank behind it, and a conjunction between two words.

        Without blanks there are two letters at least on both sides: a single one may make a word with the conjunction.
        """
        joined = self._one_of("conjunctions")
        if self.spaced:
            return joined, r"\s+", rf"\s+{joined}\s+"
        return joined, r"\s*", rf"(?<=\w\w)\s*{joined}\s*(?=\w\w)"

    def _one_of(self, name: str) -> str:
        longest_first = sorted(self.phrases(name), key=len, reverse=True)
        return f"(?:{'|'.join(map(re.escape, longest_first)) or '(?!)'})"

    def begins(self, text: str, name: str) -> bool:
        """Tell whether the first word of a text stands in a list ("answers.orders")."""
        return not self.words_of(name).isdisjoint(words(text, 1)[:1])

    def is_saying(self, text: str) -> bool:
        """Tell whether a text begins as a saying does, in which words of the phrases mean something else."""
        # Endings tell "let us note" from "note" in some languages, so that no stems are compared.
        typed = self.spelled(text)
        return any(typed[: len(saying)] == saying for saying in self._sayings)

    @cached_property
    def _sayings(self) -> list[list[str]]:
        return [self.spelled(saying) for saying in self.phrases("sayings")]

    def words_of(self, name: str) -> frozenset[str]:
        """Return the words of a list as they are written, since endings tell "done" from "to do"."""
        return _words_of(self, name)


@cache
def _words_of(lexicon: StandinVocabulary, name: str) -> frozenset[str]:
    return frozenset(word for phrase in lexicon.phrases(name) for word in words(phrase, 1))


@cache
def vocabulary(lang: str) -> StandinVocabulary:
    """Return the word lists of a language, those of the fallback language where it has none."""
    return StandinVocabulary(lang)


def sentence(key: str, lang: str, **variables: object) -> str:
    """Return one of the stand-in's own sentences."""
    return prompts.sentence("standin/sentences", key, lang, **variables)


def asking(slot: str, lang: str, tool: str = "") -> str:
    """Return the question for a missing parameter: a tool's own one, or that of all tools."""
    questions = vocabulary(lang).table["ask"]
    question = questions.get(tool, {}).get(slot) or questions.get(slot)
    return str(question) if question else sentence("ask_other", lang, name=slot)
