"""Citations in a reply: `[source=[0, 1]]` in a model's text becomes the numbers of its sources, as people see them.

A model counts the documents that it was given from 0. People see the numbers from 1, in brackets: `[1][2]`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from typing_extensions import TypedDict

_MARK = re.compile(r"\[ *sources? *= *(?:\[([\d, ]{0,80})\]|([\d, ]{1,80})) *\]", re.IGNORECASE)
_UNCLOSED = re.compile(r"\[ *sources? *= *\[([\d, ]{0,80})\]()", re.IGNORECASE)
"""A mark without its last bracket, as small models write it."""
_CUT = re.compile(r"\[ *sources? *=.*$", re.IGNORECASE | re.DOTALL)
_FORGED = re.compile(r"\[(?=\s*sources?\s*=)", re.IGNORECASE)
_BEGINNINGS = ("[source=", "[sources=")
_INNER = frozenset("0123456789,[]")
LONGEST_MARK = 100
"""Characters of a mark; a longer text is not a mark."""


class CitedSource(TypedDict):
    """A document that a reply may cite; its number is its place among the sources of the turn, from 0."""

    title: str
    url: str
    """An address on the web, or a place in the user's own documents."""


class Citation(CitedSource):
    """One number in a text, with the source that it stands for."""

    number: int
    """The source's number, from 0."""
    start: int
    """The place in the text where the number begins, brackets included; counted in characters."""
    end: int


@dataclass(frozen=True)
class CitedText:
    """A text as people read it."""

    text: str = ""
    citations: Sequence[Citation] = ()


@dataclass(frozen=True)
class CitedReply(CitedText):
    """A whole reply: as people read it, and as its model may read it again."""

    source: str = ""
    """The reply with its marks; only those for existing sources."""
    unknown: int = 0


class CitationReader:
    """Takes the pieces of a reply and returns the text to show; half a mark is held back."""

    def __init__(self, sources: Sequence[CitedSource]) -> None:
        self.unknown = 0
        """How many numbers stood for no source; they were dropped."""
        self.source = ""
        """The text so far, with the marks for existing sources."""
        self._sources = sources
        self._held = ""
        self._shown = ""
        self._citations: list[Citation] = []

    def feed(self, piece: str) -> CitedText:
        """Take a piece and return the text that may be shown now."""
        text, self._held = self._held + piece, ""
        done, place = 0, text.find("[")
        while place >= 0:
            mark = _MARK.match(text, place)
            if mark is None and _may_begin_mark(text[place : place + LONGEST_MARK + 1]):
                break
            if mark := mark or _UNCLOSED.match(text, place):
                self._cite(text[done:place], mark[1] or mark[2] or "")
                done = mark.end()
            place = text.find("[", mark.end() if mark else place + 1)
        # The space before a mark that is dropped is dropped with it.
        ready = done + len(text[done : None if place < 0 else place].rstrip(" "))
        self._held = text[ready:]
        self._show(text[done:ready])
        return self._taken()

    def rest(self) -> CitedText:
        """Return the text that is held back at the end of the reply; a mark that was cut is dropped."""
        text, self._held = self._held, ""
        if mark := _UNCLOSED.search(text):
            self._cite(text[: mark.start()], mark[1])
        elif cut := _CUT.search(text):
            self.unknown += 1
            self._show(text[: cut.start()].rstrip(" "))
        else:
            self._show(text)
        return self._taken()

    def _show(self, text: str) -> None:
        self.source += text
        self._shown += text

    def _cite(self, before: str, listed: str) -> None:
        """Show the text before a mark, and the numbers of the mark that stand for a source, each once."""
        numbers = dict.fromkeys(int(number) for number in re.findall(r"\d{1,9}", listed))
        existing = [number for number in numbers if number < len(self._sources)]
        self.unknown += len(numbers) - len(existing)
        self._show(before if existing else before.rstrip(" "))
        if not existing:
            return
        self.source += f"[source={existing}]"
        for number in existing:
            start = len(self._shown)
            self._shown += f"[{number + 1}]"
            end = len(self._shown)
            self._citations.append({**self._sources[number], "number": number, "start": start, "end": end})

    def _taken(self) -> CitedText:
        shown = CitedText(self._shown, self._citations)
        self._shown, self._citations = "", []
        return shown


def cited(reply: str, sources: Sequence[CitedSource]) -> CitedReply:
    """Return a whole reply with numbers in place of its marks."""
    reader = CitationReader(sources)
    parts = reader.feed(reply), reader.rest()
    citations = [*parts[0].citations, *shifted(parts[1].citations, len(parts[0].text))]
    return CitedReply(parts[0].text + parts[1].text, citations, reader.source, reader.unknown)


def uncited(text: str) -> str:
    """Return a model's text without the marks."""
    return cited(text, ()).text if "[" in text else text


def without_marks(foreign: str) -> str:
    """Return foreign text without anything that could pass for a mark, wherever it is quoted."""
    return _FORGED.sub("(", foreign)


def shifted(citations: Sequence[Citation], offset: int) -> list[Citation]:
    """Return citations as they stand in a text that has `offset` characters before them."""
    return [{**each, "start": each["start"] + offset, "end": each["end"] + offset} for each in citations]


def _may_begin_mark(text: str) -> bool:
    """Tell whether a text from a bracket on may be the beginning of a mark."""
    if len(text) > LONGEST_MARK or text[1:2] not in ("", " ", "s", "S"):
        return False
    bare = text.casefold().replace(" ", "")
    if any(beginning.startswith(bare) for beginning in _BEGINNINGS):
        return True
    inner = next((bare[len(beginning) :] for beginning in _BEGINNINGS if bare.startswith(beginning)), None)
    return inner is not None and set(inner) <= _INNER and inner.count("[") < 2 and inner.count("]") < 2
