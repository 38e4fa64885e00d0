"""Retrievers: they find documents for a query. One file a source, found by file name, defines one `source`.

The file name is the retriever's name in the setting SEARCH_SOURCES; `prompts/<lang>/research/retrievers.toml` has its
purpose. A retriever is made once, from the settings. All turns use it, also at the same time.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

from pydantic import SecretStr

from agents.discovery import load_each
from agents.errors import DialogSupervisorError
from agents.sources.web.fetcher import Fetcher, FetchError
from dialogs.research.fields import address, day, text
from dialogs.research.index import DocumentIndex
from dialogs.research.vectors import Vectors
from prompts import FALLBACK, sentence

Kind = Literal["web", "news", "images"]
"""The kinds of web searches."""


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
    """The media type, such as `image/png`; empty where it is unknown."""
    page: str
    """The address of the page that shows the picture."""


@dataclass(frozen=True)
class FoundDocument:
    """A found passage. Its text, title and addresses are foreign: data, never instructions."""

    text: str
    """Plain text or Markdown; never HTML."""
    title: str
    url: str
    """An http or https address; for one's own documents their path below the added folder, such as
    `manual/returns.md#refunds`, and for our help pages `help/…`."""
    retriever: str
    """The name of the retriever that found it."""
    published: str | None = None
    """The date, such as `2026-11-22`; None if it is not known."""
    image: Image | None = None
    part: str = ""
    """The part of the page, where a source gives several; comparisons of addresses leave it out."""


@dataclass(frozen=True)
class Results:
    """The results of a retriever for a query, the best first. No documents is a result, too."""

    documents: Sequence[FoundDocument] = ()
    failures: Mapping[str, str] = field(default_factory=dict)
    """The failed ones among several retrievers, with their reasons in words for a model."""


class SearchFailed(DialogSupervisorError):
    """A retriever could not search. The message is for a model and holds nothing secret.

    `failures` has the reasons of the failed ones among several retrievers.
    """

    def __init__(self, message: str, failures: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.failures = failures or {}


@runtime_checkable
class Retriever(Protocol):
    """A source of documents, or several of them.

    The protocol can be checked at run time, since pydantic does so for a tool with a `ToolRuntime` of our context.
    """

    @property
    def name(self) -> str:
        """The retriever's name for settings and models."""

    @property
    def reaches_out(self) -> bool:
        """Whether it sends the query outside, which counts as a sending; a search of one's own documents does not."""

    def description(self, lang: str) -> str:
        """Return its purpose in a line, so that a model can choose it."""

    async def search(self, query: str, *, limit: int, lang: str) -> Results:
        """Return at most `limit` documents for a query in the language `lang`, the best first.

        Raises:
            SearchFailed: it could not search; an empty result is not a failure.
        """


@dataclass(frozen=True)
class RetrieverServices:
    """The parts for retrievers: the operator's settings, and the access to files and the network."""

    index: DocumentIndex
    fetcher: Fetcher
    searxng_url: str = ""
    tavily_url: str = ""
    tavily_key: SecretStr | None = None
    wikipedia_url: str = ""
    """The address, with `{lang}` in the place of the language."""
    vectors: Vectors | None = None
    """The vectors of the index; None unless a model of embeddings is set."""


@dataclass(frozen=True)
class Base:
    """The base of each retriever of this folder."""

    name: str
    services: RetrieverServices

    @property
    def reaches_out(self) -> bool:
        """Whether it sends the query outside."""
        return True

    def description(self, lang: str) -> str:
        """Return its purpose in a line."""
        return sentence("research/retrievers", self.name, lang)

    async def answer(
        self, url: str, *, params: Mapping[str, str] | None = None, body: object = None, headers: Mapping[str, str] = {}
    ) -> object:
        """Return the JSON that a service answers to a GET, or to a POST with a `body`.

        Raises:
            SearchFailed: the service does not answer.
        """
        try:
            return await self.services.fetcher.answer(url, params=params, body=body, headers=headers)
        except FetchError as fault:
            raise SearchFailed(f"{self.name}: {fault}") from fault

    def document(self, row: Mapping[str, object], body: str, date: str, image: Image | None = None) -> FoundDocument:
        """Return a result of a service; `body` and `date` name its text and day. Its title replaces a missing text."""
        title = text(row, "title")
        page = address(row, "url", "href")
        return FoundDocument(text(row, body) or title, title, page, self.name, day(row, date), image)


@dataclass(frozen=True, kw_only=True)
class Source:
    """The making of a retriever; `make` gets its name.

    `needs` are the names of settings that it cannot do without. `patience` multiplies the time limit of a search for
    it.
    """

    make: Callable[[str, RetrieverServices], Retriever]
    needs: Collection[str] = ()
    patience: int = 1


def discover() -> dict[str, Source]:
    """Load every source of this folder by file name.

    Raises:
        ContractError: a file defines no `source = Source(...)`.
        PromptError: a retriever has no line with its purpose.
    """
    sources = load_each(__name__, __path__, Source)
    for name in sources:
        sentence("research/retrievers", name, FALLBACK)
    return sources
