"""Help for a question that no other tool answers: links are asked in turn until one has an answer.

The answer is shown with its source. Our own help pages are a link (`prompts/<lang>/help.md` and
`prompts/<lang>/<dialog>/help.md`). Further links are the application's, and those of plug-ins.
"""

import asyncio
import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Protocol

from agents.events import Event
from agents.language.text.clean import clean
from agents.language.text.fulltext import Index, IndexEntry, IndexHit
from agents.language.text.stems import stems
from agents.language.text.vocabulary import small_words
from prompts import phrase, prompts_of_all

LOG = logging.getLogger(__name__)
ASKING = "help link"
"""The speaker of a link's model calls in events; no real speaker has this name."""
LONGEST_QUESTION = 500
LONGEST_ANSWER = 1500
"""Characters."""
MOST_HITS = 3
_SPACES = re.compile(r"[^\S\n]+")
_LINES = re.compile(r"\s*\n\s*\n\s*")


@dataclass(frozen=True)
class HelpRequest:
    """A question that can be understood by itself; `key` is the same for a repeated call."""

    text: str
    lang: str
    thread: str = ""
    key: str = ""
    user: str = ""
    """The user who asks; empty: the thread."""
    is_shared: bool = False
    """Whether others read the answer."""
    emit: Callable[[Event], None] = field(default=lambda _: None, compare=False, repr=False)
    """Takes the events of model calls for the answer."""


class Exhausted(Exception):
    """The user has asked a link as often as they may today."""


class HelpLink(Protocol):
    """A source that may have the answer."""

    @property
    def name(self) -> str:
        """The link's name in the setting, and in the mark on its answers."""

    @property
    def reaches_out(self) -> bool:
        """Whether a question may leave this machine."""

    @property
    def is_foreign(self) -> bool:
        """Whether an answer may be somebody else's words."""

    async def answer(self, question: HelpRequest) -> str | None:
        """Return the answer as plain text, None without one. If it raises, the next link is asked."""


def readable(text: str, longest: int) -> str:
    """Return a foreign text without invisible characters, cut to `longest` characters."""
    short = _LINES.sub("\n\n", _SPACES.sub(" ", clean(text))).strip()
    return short if len(short) <= longest else f"{short[: longest - 1].rstrip()}…"


class PageLink:
    """Look a question up in the help pages."""

    name = "pages"
    reaches_out = is_foreign = False

    async def answer(self, question: HelpRequest) -> str | None:
        """Return the section that fits best, without its title."""
        page = look_up(question.text, question.lang)
        return page.key if page else None


def look_up(query: str, lang: str) -> IndexHit | None:
    """Return the section of the help pages that fits a query best, its text as the key; None if none fits.

    It has to have two of the query's words, or one in its title, and half of all; those in its title count twice.
    """
    index, titles = _index(lang)
    count = len(index.stems_of(query))

    def overlap(hit: IndexHit) -> int:
        return len(hit.words) + len(hit.words & titles[hit.key])

    best = max(index.search(query, MOST_HITS), key=overlap, default=None)
    # Texts are full of everyday words ("show", "tomorrow", "Berlin"); a title says what its section is about.
    if best is None or overlap(best) < 2:
        return None
    is_titled = bool(best.words & titles[best.key])
    return best if 2 * overlap(best) >= count + (0 if is_titled else 1) else None


@cache
def _index(lang: str) -> tuple[Index, dict[str, frozenset[str]]]:
    """Return the index of the sections and the stems of their titles, by text."""
    parts = [page.partition("\n") for page in "\n\n".join(prompts_of_all("help", lang)).split("\n## ")[1:]]
    sections = [IndexEntry(text.strip(), title, text) for title, _, text in parts]
    titles = {entry.key: frozenset(stems(entry.title, lang)) for entry in sections}
    return Index(sections, lang, ignored=small_words(lang)), titles


class HelpChain:
    """The links in their order, our own pages if none are given; `timeout` is in seconds, for each link."""

    def __init__(self, links: Sequence[HelpLink] | None = None, timeout: float = 10) -> None:
        self.links = (PageLink(),) if links is None else tuple(links)
        self.timeout = timeout

    @property
    def reaches_out(self) -> bool:
        """Whether a question may leave this machine."""
        return any(link.reaches_out for link in self.links)

    @property
    def is_foreign(self) -> bool:
        """Whether an answer may be somebody else's words."""
        return any(link.is_foreign for link in self.links)

    async def ask(self, question: HelpRequest) -> str:
        """Return the first answer with its source, or a sentence that nobody knows the answer. Never raises."""
        text = readable(question.text, LONGEST_QUESTION)
        cleaned = replace(question, text=text)
        for link in self.links if text else ():
            try:
                answer = await self._answer(link, cleaned)
            except Exhausted:
                return phrase("help_exhausted", question.lang)
            if answer:
                return phrase(f"help_{link.name}", question.lang, answer=answer)
        return phrase("help_unknown", question.lang)

    async def _answer(self, link: HelpLink, question: HelpRequest) -> str:
        try:
            async with asyncio.timeout(self.timeout):
                return readable(await link.answer(question) or "", LONGEST_ANSWER)
        except Exhausted:
            raise
        except Exception as failure:
            # No traceback: it may quote the question, or an address with a password.
            LOG.warning("help: %s does not answer (%s)", link.name, type(failure).__name__)
            return ""
