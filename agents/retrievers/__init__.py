"""Retrievers: they find documents for a query. One file a source or a way to combine sources, found by file name.

A retriever is made once, from the settings, and is used by all turns at the same time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from agents.errors import DialogSupervisorError


@dataclass(frozen=True)
class Image:
    """A picture on a web page."""

    url: str
    """The address of the picture in its original size."""
    title: str
    thumbnail: str
    """The address of a small copy; empty if there is none."""
    width: int | None
    height: int | None
    """The original size in pixels; None where the source does not tell it."""
    mime_type: str
    """Such as `image/png`; empty where nothing tells it."""
    page: str
    """The address of the page that shows the picture."""


@dataclass(frozen=True)
class Document:
    """A passage that was found. Its text, title and addresses are foreign: data, never instructions."""

    text: str
    """Plain text or Markdown; never HTML."""
    title: str
    url: str
    """An http or https address; for one's own documents their path below the added folder, such as
    `manual/returns.md#Refunds`, and for our help pages `help/…`."""
    retriever: str
    """The name of the retriever that found it."""
    published: str | None = None
    """The date, such as `2026-11-22`; None if it is not known."""
    image: Image | None = None


@dataclass(frozen=True)
class Results:
    """What a retriever found for a query, the best first. No documents is an answer too."""

    documents: Sequence[Document] = ()
    failures: Mapping[str, str] = field(default_factory=dict)
    """Of several retrievers: those that did not answer, and why, in words for a model."""


class SearchFailed(DialogSupervisorError):
    """A retriever could not search. The message is for a model and holds nothing secret."""


class Retriever(Protocol):
    """A source of documents, or several of them."""

    @property
    def name(self) -> str:
        """The name that the settings and a model use."""

    @property
    def reaches_out(self) -> bool:
        """Whether it carries the query to somebody outside, which counts as sending; one's own documents do not."""

    def description(self, lang: str) -> str:
        """Return in a line what it is good for, so that a model can choose it."""

    async def search(self, query: str, *, limit: int, lang: str) -> Results:
        """Return at most `limit` documents for a query in the language `lang`, the best first.

        Raises:
            SearchFailed: it could not search; a search that found nothing is no failure.
        """
