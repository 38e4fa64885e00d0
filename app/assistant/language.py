"""Which language a turn is held in: asked for, set by the user, or heard in what the user writes."""

from dataclasses import dataclass

from agents.language.text.stems import letters_of
from agents.memory.inbox import InboxEntry
from agents.toolkit.questions import ANSWERS

SURE = 4
"""Letters of an alphabet that make a message one of its language."""


@dataclass(frozen=True)
class Languages:
    """Choose the language of a turn."""

    default: str
    names: tuple[str, ...]

    def choose(self, entry: InboxEntry, fixed: str | None, last: str | None) -> str:
        """Return the language that the door or the user has fixed, else that of the message, else the last one."""
        last = last if last in self.names else None
        if fixed in self.names:
            return fixed
        if entry.source in ANSWERS:
            # A label is not what the user writes.
            return last or self.default
        return self.heard(entry.text or "", last or self.default)

    def heard(self, text: str, current: str) -> str:
        """Return the language of a text, as far as its letters show it; letters of the current one change nothing."""
        counts = {lang: letters_of(text, lang) for lang in self.names}
        best = max(self.names, key=counts.__getitem__, default=current)
        return best if not counts.get(current) and counts.get(best, 0) >= SURE else current
