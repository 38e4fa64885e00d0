"""Texts as patterns read them: stems in a line, and the words behind them."""

from dataclasses import dataclass
from functools import lru_cache

from agents.models.rules.sentences import vocabulary
from agents.text.stems import plain
from agents.text.vocabulary import Unit

_OPENING, _CLOSING = ('"', "«", "“"), ('"', "»", "”")


@dataclass(frozen=True)
class Spoken:
    """A text as patterns read it: its stems in a line, each followed by a blank."""

    text: str
    lang: str
    units: tuple[Unit, ...]
    line: str

    def piece(self, start: int, end: int) -> str:
        """Return the plain text behind a part of the line, with the quotation marks at its edges."""
        first = self.units[self.line.count(" ", 0, start)]
        last = self.units[self.line.count(" ", 0, end) - 1]
        opened = self.text[: first.start].endswith(_OPENING)
        closed = self.text[last.end :].startswith(_CLOSING)
        return self.text[first.start - opened : last.end + closed]


@lru_cache(maxsize=2_000)
def spoken(text: str, lang: str) -> Spoken:
    """Read a text for patterns."""
    flat = plain(text)
    units = tuple(vocabulary(lang).units(flat))
    return Spoken(flat, lang, units, "".join(f"{unit.stem} " for unit in units))
