"""Which language a turn is held in: asked for, set by the user, or heard in what the user writes."""

from dataclasses import dataclass

from langgraph.store.base import BaseStore

from agents.memory.inbox import InboxEntry
from agents.memory.preferences import Preferences
from agents.questions import CHOICE
from agents.text.stems import letters_of

SURE = 4
"""Letters of an alphabet that make a message one of its language."""


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
        """Return the language of a text, as far as its letters show it; letters of the current one change nothing."""
        counts = {lang: letters_of(text, lang) for lang in self.known}
        best = max(self.known, key=counts.__getitem__, default=current)
        return best if not counts.get(current) and counts.get(best, 0) >= SURE else current
