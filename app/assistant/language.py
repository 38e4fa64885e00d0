"""Which language a turn is held in: asked for, set by the user, or heard in what the user writes."""

import re
from dataclasses import dataclass

from langgraph.store.base import BaseStore

from agents.memory.inbox import InboxEntry
from agents.memory.preferences import Preferences
from agents.questions import CHOICE

SCRIPTS = {"ru": re.compile(r"[а-яё]", re.IGNORECASE), "en": re.compile(r"[a-z]", re.IGNORECASE)}
SURE = 4
"""Letters of a script that make a message one of its language."""


@dataclass(frozen=True)
class Languages:
    """Choose the language of a turn."""

    default: str
    known: tuple[str, ...]
    store: BaseStore

    async def choose(self, letter: InboxEntry, asked: str | None, last: str | None) -> str:
        """Return what the door asked for, else what the user has set, else what the user writes, else the last."""
        if asked:
            return asked
        preferences = await Preferences.of(self.store, letter.user)
        if preferences.lang is not None:
            return preferences.lang
        if letter.source == CHOICE:
            # A label is not what the user writes.
            return last or self.default
        return self.heard(letter.text or "", last or self.default)

    def heard(self, text: str, current: str) -> str:
        """Return the language of a text, as far as its script shows it; a mixed text changes nothing."""
        counts = {lang: len(SCRIPTS[lang].findall(text)) for lang in self.known if lang in SCRIPTS}
        written = [lang for lang, count in counts.items() if count]
        return written[0] if len(written) == 1 and counts[written[0]] >= SURE else current
