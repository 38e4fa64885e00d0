"""The stand-in's vocabulary of a language, and its own sentences.

General lists are in `prompts/<lang>/standin/`, those of a dialog's tools in `prompts/<lang>/<dialog>/standin.toml`.
"""

import re
from collections.abc import Mapping
from functools import cache, cached_property
from typing import Any

import prompts
from agents.language.text.vocabulary import Vocabulary
from prompts import FALLBACK, language, languages, table


class StandinVocabulary(Vocabulary):
    """The word lists of a language, including those that only the stand-in reads."""

    @cached_property
    def table(self) -> Mapping[str, Any]:
        """Return the word lists as written, and the names of the languages."""
        names = {lang: [lang, *language(lang).names] for lang in languages()}
        lists: dict[str, Any] = {**table("words", self.lang), **table("standin/words", self.lang)}
        lists["values"] = {"change_language": {"language": names}}
        for path in prompts.files(FALLBACK, "*/standin.toml"):
            for name, entry in table(f"{path.parent.name}/standin", self.lang).items():
                lists[name] = {**lists.get(name, {}), **entry} if isinstance(entry, dict) else entry
        return lists

    @cached_property
    def kinds(self) -> Mapping[str, frozenset[str]]:
        """Return the stems of the words for the kinds of a thing, by the tool that makes it."""
        entries = {tool: entry.get("kind", {}).values() for tool, entry in self.table["values"].items()}
        words = {tool: [it for phrases in entry for it in phrases] for tool, entry in entries.items()}
        return {tool: frozenset(stem for it in phrases for stem in self.stems(it)) for tool, phrases in words.items()}

    @cached_property
    def beside(self) -> frozenset[str]:
        """Return the stems that name no entry of a list beside "all"."""
        return (self.stop - self.listed("all")).union(self.listed("nouns"), *self.kinds.values())

    @cached_property
    def between_wishes(self) -> re.Pattern[str]:
        """Return the pattern of a boundary between two wishes of a message."""
        mark = r"[,;:!?\n、，。；：！？]+"
        return self._between(rf"(?<!\d){mark}|{mark}(?!\d)|\.\s|\s[—–-]\s", *self.phrases("adding"))

    @cached_property
    def between_items(self) -> re.Pattern[str]:
        """Return the pattern of a boundary between two items of an enumeration."""
        return self._between(r"[,;、\n，；]+|\.\s+|。")

    def _between(self, marks: str, *further: str) -> re.Pattern[str]:
        longest_first = sorted((*self.phrases("conjunctions"), *further), key=len, reverse=True)
        joined = f"(?:{'|'.join(map(re.escape, longest_first)) or '(?!)'})"
        gap = r"\s+" if self.spaced else r"\s*"
        # Without blanks, a single character beside the conjunction may form a word with it.
        joint = rf"\s+{joined}\s+" if self.spaced else rf"(?<=\w\w)\s*{joined}\s*(?=\w\w)"
        return re.compile(rf"(?:\s*(?:{marks})\s*)+(?:{joined}{gap})?|{joint}", re.IGNORECASE)

    def choices(self, tool: str, parameter: str) -> Mapping[str, list[str]]:
        """Return the phrases of a parameter's values; a text in place of the table names another parameter."""
        entry = self.table["values"].get(tool, {}).get(parameter, {})
        return self.choices(*entry.split(".")) if isinstance(entry, str) else entry


@cache
def vocabulary(lang: str) -> StandinVocabulary:
    """Return the word lists of a language, or those of the fallback language if it has none."""
    return StandinVocabulary(lang)


def sentence(key: str, lang: str, **variables: object) -> str:
    """Return one of the stand-in's own sentences."""
    return prompts.sentence("standin/sentences", key, lang, **variables)


def asking(tool: str, parameter: str, lang: str) -> str:
    """Return the question for a missing parameter: the tool's own, or one with the parameter's name."""
    question = vocabulary(lang).table.get("ask", {}).get(tool, {}).get(parameter)
    return str(question) if question else sentence("ask_other", lang, name=parameter.replace("_", " "))
