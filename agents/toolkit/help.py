"""Help for a question that no other tool answers: links are asked in turn until one has an answer.

The answer is shown with its source. The first link is the documents that are indexed, where they say more of the
question than the second: our own help pages, `prompts/<lang>/help.md` and `prompts/<lang>/<dialog>/help.md`. The others
are another model, a person, and the webhook of another assistant, whose requests and answers `docs/help.md` describes.
"""

import asyncio
import hashlib
import hmac
import logging
import re
import ssl
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Protocol

import httpx
from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage
from pydantic import BaseModel

from agents.events import Event
from agents.language.text.fulltext import Entry, Hit, Index
from agents.language.text.stems import stems
from agents.language.text.vocabulary import small_words
from agents.memory.notes import Notes
from agents.models import Model
from agents.models.reply import Listener, ask
from agents.sources.documents.index import DocumentIndex
from agents.state.message_notes import notes
from prompts import phrase, prompt, prompts_of_all

LOG = logging.getLogger(__name__)
ASKING = "help link"
"""The speaker of a link's model calls in events; no real speaker has this name."""
LONGEST_QUESTION = 500
LONGEST_ANSWER = 1500
"""Characters."""
MOST_HITS = 3
VERSION = 1
LARGEST_RESPONSE = 64 * 1024
"""Bytes of an answer."""
UNKNOWN = "UNKNOWN"
"""What the model says when it does not know; the prompt names it."""
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


class Pages:
    """Look a question up in the help pages."""

    name = "pages"

    async def answer(self, question: HelpRequest) -> str | None:
        """Return the section that fits best, without its title."""
        page = look_up(question.text, question.lang)
        return page.key if page else None


def look_up(query: str, lang: str) -> Hit | None:
    """Return the section of the help pages that fits a query best, its text as the key; None when none does.

    It has to have two of the query's words, or one in its title, and half of all; those in its title count twice.
    """
    index, titles = _index(lang)
    count = len(index.stems_of(query))

    def overlap(hit: Hit) -> int:
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
    sections = [Entry(text.strip(), title, text) for title, _, text in parts]
    titles = {entry.key: frozenset(stems(entry.title, lang)) for entry in sections}
    return Index(sections, lang, ignored=small_words(lang)), titles


@dataclass
class Documents:
    """Look a question up in the documents that the operator has indexed."""

    index: DocumentIndex
    has_answered: bool = False
    """Whether somebody else's words may have been told: those of a document."""
    name = "documents"

    async def answer(self, question: HelpRequest) -> str | None:
        """Return the passage that has most of the question's words, with its place; none if our pages have as many."""
        page = look_up(question.text, question.lang)
        words = len(page.words) if page else 0
        passage = await asyncio.to_thread(self.index.answering, question.text, question.lang, words)
        self.has_answered |= passage is not None
        return f"{passage.title} ({passage.url})\n{passage.text}" if passage else None


class HelpChain:
    """The links in their order, our own pages if none are given; `timeout` is in seconds, for each link."""

    def __init__(self, links: Sequence[Link] | None = None, timeout: float = 10) -> None:
        self.links = (Pages(),) if links is None else tuple(links)
        self.timeout = timeout

    @property
    def reaches_out(self) -> bool:
        """Whether a question may leave this machine: not where only pages and documents are read."""
        return any(not isinstance(link, Pages | Documents) for link in self.links)

    @property
    def is_foreign(self) -> bool:
        """Whether an answer may be somebody else's words."""
        return self.reaches_out or any(isinstance(link, Documents) and link.has_answered for link in self.links)

    async def ask(self, question: HelpRequest) -> str:
        """Return the first answer with its source, or a sentence that nobody knows the answer. Never raises."""
        text = plain(question.text, LONGEST_QUESTION)
        cleaned = replace(question, text=text)
        for link in self.links if text else ():
            try:
                answer = await self._answer(link, cleaned)
            except Exhausted:
                return phrase("help_exhausted", question.lang)
            if answer:
                return phrase(f"help_{link.name}", question.lang, answer=answer)
        return phrase("help_unknown", question.lang)

    async def _answer(self, link: Link, question: HelpRequest) -> str:
        try:
            async with asyncio.timeout(self.timeout):
                return plain(await link.answer(question) or "", LONGEST_ANSWER)
        except Exhausted:
            raise
        except Exception as failure:
            # No traceback: it may quote the question, or an address with a password.
            LOG.warning("help: %s does not answer (%s)", link.name, type(failure).__name__)
            return ""


@dataclass(frozen=True)
class OtherModel:
    """Ask a model of its own."""

    name = "model"
    model: Model

    async def answer(self, question: HelpRequest) -> str | None:
        """Return the model's answer; asking it is told as any model call."""
        role, lang = prompt("help_model", question.lang, unknown=UNKNOWN), notes(lang=question.lang)
        messages: list[AnyMessage] = [SystemMessage(role, additional_kwargs=lang), HumanMessage(question.text)]
        text = (await ask(self.model, messages, [], Listener(ASKING, question.emit))).text.strip()
        return None if text.strip(" .!«»\"'").upper() == UNKNOWN else text


@dataclass(frozen=True)
class Person:
    """Leave a note; doors deliver it."""

    name = "person"
    notes: Notes
    most: int
    """Notes that a user may leave within a day."""

    async def answer(self, question: HelpRequest) -> str | None:
        """Return what was noted. Raises Exhausted if the user has left too many notes today."""
        user = question.user or question.thread
        if not await self.notes.add(question.thread, question.text, question.key, user, self.most):
            raise Exhausted
        return question.text


class WebhookFault(ValueError):
    """The webhook's response holds no answer; the next link is asked."""


class _Response(BaseModel):
    answer: str | None


@dataclass(frozen=True)
class Webhook:
    """Ask another assistant over HTTP. `salt` keeps it from telling whose thread a question is from."""

    name = "webhook"
    url: str
    salt: bytes
    secret: str | None = field(default=None, repr=False)
    timeout: float = 10

    async def answer(self, question: HelpRequest) -> str | None:
        """Return the other assistant's answer; redirects are not followed, and only so much is read.

        Raises httpx.HTTPError if the assistant cannot be reached, and ValueError if its answer has another form.
        """
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        headers |= {"Authorization": f"Bearer {self.secret}"} if self.secret else {}
        thread = hmac.new(self.salt, question.thread.encode("utf-8", "replace"), hashlib.sha256).hexdigest()[:32]
        body = {"v": VERSION, "query": question.text, "lang": question.lang, "thread": thread}
        async with (
            # A proxy of the environment would be told the secret and the question.
            httpx.AsyncClient(
                timeout=self.timeout, follow_redirects=False, verify=_trusted(), trust_env=False
            ) as client,
            client.stream("POST", self.url, json=body, headers=headers) as response,
        ):
            if response.status_code != httpx.codes.OK:
                raise WebhookFault(f"status {response.status_code}")
            return _Response.model_validate_json(await _body(response)).answer


@cache
def _trusted() -> ssl.SSLContext:
    """Return who is trusted to vouch for a server; reading it anew for each question would hold up every turn."""
    return httpx.create_ssl_context(trust_env=False)


async def _body(response: httpx.Response) -> bytes:
    body = bytearray()
    # Raw: a small answer that unpacks to a large one is not unpacked.
    async for part in response.aiter_raw():
        body += part
        if len(body) > LARGEST_RESPONSE:
            raise WebhookFault("too large")
    return bytes(body)
