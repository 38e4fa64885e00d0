"""The words that the stand-in knows of a language, and its own sentences.

General lists stand in `prompts/<lang>/standin/`, those of a dialog's tools in `prompts/<lang>/<dialog>/standin.toml`.
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
        """Return the word lists as they are written, and what the languages are called."""
        names = {lang: [lang, *language(lang).names] for lang in languages()}
        lists: dict[str, Any] = {**table("words", self.lang), **table("standin/words", self.lang)}
        lists["values"] = {"change_language": {"language": names}}
        for path in prompts.files(FALLBACK, "*/standin.toml"):
            for name, entry in table(f"{path.parent.name}/standin", self.lang).items():
                lists[name] = {**lists.get(name, {}), **entry} if isinstance(entry, dict) else entry
        return lists

    @property
    def spaced(self) -> bool:
        """Whether blanks stand between the words of the language."""
        return language(self.lang).spaced

    @cached_property
    def openings(self) -> tuple[tuple[str, ...], ...]:
        """Return what may stand before a wish: polite beginnings, in spaced languages small talk too."""
        names = ("openings", "greeting", "thanks", "yes") if self.spaced else ("openings",)
        entries = {tuple(self.stems(entry)) for name in names for entry in self.phrases(name)}
        return tuple(sorted(entries, key=len, reverse=True))

    @cached_property
    def between_wishes(self) -> re.Pattern[str]:
        """Return what stands between the wishes of a message."""
        return self._between(r"[,;:!?\n、，。；：！？]+(?!\d)|\.\s|\s[—–-]\s")

    @cached_property
    def between_items(self) -> re.Pattern[str]:
        """Return what stands between the items of an enumeration."""
        return self._between(r"[,;、\n，；]+|\.\s+|。")

    def _between(self, marks: str) -> re.Pattern[str]:
        longest_first = sorted(self.phrases("conjunctions"), key=len, reverse=True)
        joined = f"(?:{'|'.join(map(re.escape, longest_first)) or '(?!)'})"
        gap = r"\s+" if self.spaced else r"\s*"
        # Without blanks a single character on a side may make a word with the conjunction.
        joint = rf"\s+{joined}\s+" if self.spaced else rf"(?<=\w\w)\s*{joined}\s*(?=\w\w)"
        return re.compile(rf"(?:\s*(?:{marks})\s*)+(?:{joined}{gap})?|{joint}", re.IGNORECASE)

    def choices(self, tool: str, parameter: str) -> Mapping[str, list[str]]:
        """Return what the values of a parameter are called; a text in place of the table names another one."""
        entry = self.table["values"].get(tool, {}).get(parameter, {})
        return self.choices(*entry.split(".")) if isinstance(entry, str) else entry


@cache
def vocabulary(lang: str) -> StandinVocabulary:
    """Return the word lists of a language, those of the fallback language where it has none."""
    return StandinVocabulary(lang)


def sentence(key: str, lang: str, **variables: object) -> str:
    """Return one of the stand-in's own sentences."""
    return prompts.sentence("standin/sentences", key, lang, **variables)


def asking(tool: str, parameter: str, lang: str) -> str:
    """Return the question for a missing parameter: that of the tool, or one with the parameter's name."""
    question = vocabulary(lang).table.get("ask", {}).get(tool, {}).get(parameter)
    return str(question) if question else sentence("ask_other", lang, name=parameter.replace("_", " "))
