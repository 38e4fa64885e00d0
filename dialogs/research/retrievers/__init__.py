"""Retrievers: they find documents for a query. One file a source, found by file name, defines one `source`.

The file name is the retriever's name in the setting SEARCH_SOURCES; what it is good for stands in
`prompts/<lang>/research/retrievers.toml`. A retriever is made once, from the settings. All turns use it, also at once.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

from pydantic import SecretStr

from agents.discovery import load_each
from agents.errors import DialogSupervisorError
from agents.sources.documents.index import DocumentIndex
from agents.sources.web.fetcher import Fetcher, FetchError
from dialogs.research.fields import address, day, text
from dialogs.research.vectors import Vectors
from prompts import FALLBACK, sentence

Kind = Literal["web", "news", "images"]
"""What a web search is asked for."""


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
class FoundDocument:
    """A passage that was found. Its text, title and addresses are foreign: data, never instructions."""

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
    """Which part of the page it is, where a source gives several; the addresses of a page are compared without it."""


@dataclass(frozen=True)
class Results:
    """What a retriever found for a query, the best first. No documents is an answer too."""

    documents: Sequence[FoundDocument] = ()
    failures: Mapping[str, str] = field(default_factory=dict)
    """Of several retrievers: those that did not answer, and why, in words for a model."""


class SearchFailed(DialogSupervisorError):
    """A retriever could not search. The message is for a model and holds nothing secret.

    `failures` says of several retrievers which failed, and why.
    """

    def __init__(self, message: str, failures: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.failures = failures or {}


@runtime_checkable
class Retriever(Protocol):
    """A source of documents, or several of them.

    It can be checked at run time, since pydantic does so where a tool asks for a `ToolRuntime` of our context.
    """

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


@dataclass(frozen=True)
class Means:
    """What retrievers are made of: the operator's settings, and what reaches files and the network."""

    index: DocumentIndex
    fetcher: Fetcher
    searxng_url: str = ""
    tavily_url: str = ""
    tavily_key: SecretStr | None = None
    wikipedia_url: str = ""
    """With `{lang}` in the place of the language."""
    vectors: Vectors | None = None
    """The vectors of the index, where a model of embeddings is set."""


@dataclass(frozen=True)
class Base:
    """What each retriever of this folder begins with."""

    name: str
    means: Means

    @property
    def reaches_out(self) -> bool:
        """Whether it carries the query to somebody outside."""
        return True

    def description(self, lang: str) -> str:
        """Return in a line what it is good for."""
        return sentence("research/retrievers", self.name, lang)

    async def answer(
        self, url: str, *, params: Mapping[str, str] | None = None, body: object = None, headers: Mapping[str, str] = {}
    ) -> object:
        """Return the JSON that a service answers to a GET, or to a POST with a `body`.

        Raises:
            SearchFailed: it does not answer.
        """
        try:
            return await self.means.fetcher.answer(url, params=params, body=body, headers=headers)
        except FetchError as fault:
            raise SearchFailed(f"{self.name}: {fault}") from fault

    def document(self, row: Mapping[str, object], body: str, date: str, image: Image | None = None) -> FoundDocument:
        """Return a result of a service; `body` and `date` name its text and its day. Without a text its title is it."""
        title = text(row, "title")
        page = address(row, "url", "href")
        return FoundDocument(text(row, body) or title, title, page, self.name, day(row, date), image)


@dataclass(frozen=True, kw_only=True)
class Source:
    """How a retriever is made; `make` is given its name.

    `needs` names the settings without which it cannot work. `patience` says how many times the time limit of a
    search it may take.
    """

    make: Callable[[str, Means], Retriever]
    needs: Collection[str] = ()
    patience: int = 1


def discover() -> dict[str, Source]:
    """Load every source of this folder by file name.

    Raises:
        ContractError: a file defines no `source = Source(...)`.
        PromptError: no line says what a retriever is good for.
    """
    sources = load_each(__name__, __path__, Source)
    for name in sources:
        sentence("research/retrievers", name, FALLBACK)
    return sources
