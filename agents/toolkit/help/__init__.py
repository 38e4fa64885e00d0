"""Help for a question that no other tool answers: links that are asked in turn, one file a link."""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from agents.events import Event

ASKING = "help link"
"""The speaker of a link's model calls in events; no real speaker has this name."""
LONGEST_QUESTION = 500
LONGEST_ANSWER = 1500
"""Characters."""
_SPACES = re.compile(r"[^\S\n]+")
_LINES = re.compile(r"\s*\n\s*\n\s*")


@dataclass(frozen=True)
class HelpRequest:
    """A question that can be understood by itself; `key` is the same when the same call is made again."""

    text: str
    lang: str
    thread: str = ""
    key: str = ""
    user: str = ""
    """Whose question it is; empty: the thread's."""
    emit: Callable[[Event], None] = field(default=lambda _: None, compare=False, repr=False)
    """Takes the events of the model calls that answering needs."""


class Exhausted(Exception):
    """The user has asked a link as often as they may today."""


class Link(Protocol):
    """A source that may have the answer."""

    @property
    def name(self) -> str:
        """The name of the setting, and of the mark on the answers."""

    async def answer(self, question: HelpRequest) -> str | None:
        """Return the answer as plain text, None without one. If it raises, the next link is asked."""


def plain(text: str, longest: int) -> str:
    """Return a text that was not written here without control and format characters, cut to so many characters."""
    printable = "".join(char for char in text if char == "\n" or char.isspace() or unicodedata.category(char)[0] != "C")
    short = _LINES.sub("\n\n", _SPACES.sub(" ", printable)).strip()
    return short if len(short) <= longest else f"{short[: longest - 1].rstrip()}…"
