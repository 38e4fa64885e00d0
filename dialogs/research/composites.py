"""Retrievers made of retrievers: combined as in SEARCH_SOURCES, limited in time, with a cache."""

import asyncio
import hashlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from dialogs.research.addresses import canonical
from dialogs.research.retrievers import FoundDocument, Results, Retriever, SearchFailed
from prompts import sentence

LOG = logging.getLogger(__name__)
CONSTANT = 60
"""The constant that weakens the first ranks in reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009)."""
MOST_KEPT = 500
"""The number of kept searches, the newest ones."""


@dataclass(frozen=True)
class Composite:
    """A retriever made of retrievers; `sort` is its key in `prompts/<lang>/research/retrievers.toml`."""

    sort: ClassVar[str]
    name: str
    retrievers: Sequence[Retriever]

    @property
    def reaches_out(self) -> bool:
        """Whether any of its retrievers sends the query outside."""
        return any(retriever.reaches_out for retriever in self.retrievers)

    def description(self, lang: str) -> str:
        """Return the purposes of its retrievers."""
        descriptions = [retriever.description(lang) for retriever in self.retrievers]
        return sentence("research/retrievers", self.sort, lang, names="; ".join(descriptions))


async def asked(retriever: Retriever, query: str, limit: int, lang: str) -> Results:
    """Return the results of a retriever, or its failure; a bug in one retriever does not stop the others."""
    try:
        return await retriever.search(query, limit=limit, lang=lang)
    except SearchFailed as failure:
        return Results(failures=failure.failures or {retriever.name: str(failure)})
    except Exception as bug:
        # No traceback: it may quote the query.
        LOG.warning("search: %s failed (%s)", retriever.name, type(bug).__name__)
        return Results(failures={retriever.name: f"{retriever.name}: an error ({type(bug).__name__})"})


@dataclass(frozen=True)
class FirstOf(Composite):
    """Asks its retrievers in order until one finds something; an empty result counts like a failure."""

    sort: ClassVar[str] = "first_of"

    async def search(self, query: str, *, limit: int, lang: str) -> Results:
        """Return the results of the first retriever that found something; see `Retriever`.

        Raises:
            SearchFailed: all of them failed.
        """
        failures: dict[str, str] = {}
        is_empty = False
        for retriever in self.retrievers:
            results = await asked(retriever, query, limit, lang)
            failures |= results.failures
            if results.documents:
                return Results(results.documents, failures)
            is_empty |= not results.failures
        if failures and not is_empty:
            raise SearchFailed("; ".join(failures.values()), failures)
        return Results((), failures)


@dataclass(frozen=True)
class Together(Composite):
    """Asks all its retrievers at the same time; the results name those that fail."""

    sort: ClassVar[str] = "together"

    async def search(self, query: str, *, limit: int, lang: str) -> Results:
        """Return the best documents of all; see `Retriever`. Raises SearchFailed: none of them could search."""
        outcomes = await asyncio.gather(*(asked(retriever, query, limit, lang) for retriever in self.retrievers))
        failures = {name: why for outcome in outcomes for name, why in outcome.failures.items()}
        documents = fused([outcome.documents for outcome in outcomes])[:limit]
        if not documents and len(failures) >= len(self.retrievers):
            raise SearchFailed("; ".join(failures.values()), failures)
        return Results(documents, failures)


def fused(rankings: Sequence[Sequence[FoundDocument]]) -> list[FoundDocument]:
    """Return several rankings as one, each page and passage once: a document wins by many and high ranks."""
    scores: dict[tuple[str, ...], float] = {}
    documents: dict[tuple[str, ...], FoundDocument] = {}
    for ranking in rankings:
        for rank, document in enumerate(ranking, 1):
            key = _key(document)
            scores[key] = scores.get(key, 0.0) + 1 / (CONSTANT + rank)
            documents.setdefault(key, document)
    return sorted(documents.values(), key=lambda document: -scores[_key(document)])


def _key(document: FoundDocument) -> tuple[str, ...]:
    # A picture differs from the page that shows it, and each part of a page counts by itself.
    return canonical(document.url), document.part, document.image.url if document.image else ""


@dataclass
class SearchCache:
    """The results of searches within the last `seconds`, while this process runs. It keeps no query.

    `now` tells the Unix time in seconds.
    """

    now: Callable[[], float]
    seconds: float
    _kept: dict[str, tuple[float, Results]] = field(default_factory=dict, repr=False)

    def get(self, search: tuple[object, ...]) -> Results | None:
        """Return the results of this search; None if none are fresh."""
        at, results = self._kept.get(_hashed(search), (0.0, None))
        return results if self.now() - at < self.seconds else None

    def put(self, search: tuple[object, ...], results: Results) -> None:
        """Keep the results of this search."""
        if len(self._kept) >= MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        self._kept[_hashed(search)] = self.now(), results

    def erase(self) -> None:
        """Forget everything."""
        self._kept.clear()


def _hashed(search: tuple[object, ...]) -> str:
    return hashlib.sha256(repr(search).encode()).hexdigest()


@dataclass(frozen=True)
class Bounded:
    """Asks another retriever, for `timeout` seconds at most, unless the cache has its results."""

    inner: Retriever
    timeout: float
    cache: SearchCache | None = None

    @property
    def name(self) -> str:
        """The name of the other retriever."""
        return self.inner.name

    @property
    def reaches_out(self) -> bool:
        """Whether the other retriever sends the query outside."""
        return self.inner.reaches_out

    def description(self, lang: str) -> str:
        """Return the description of the other retriever."""
        return self.inner.description(lang)

    async def search(self, query: str, *, limit: int, lang: str) -> Results:
        """Return fresh results, or search; see `Retriever`."""
        key = self.name, " ".join(query.casefold().split()), limit, lang
        if self.cache and (kept := self.cache.get(key)):
            return kept
        try:
            async with asyncio.timeout(self.timeout):
                results = await self.inner.search(query, limit=limit, lang=lang)
        except TimeoutError:
            raise SearchFailed(f"{self.name}: no answer within {self.timeout:g} seconds") from None
        if self.cache and results.documents:
            self.cache.put(key, Results(results.documents))
        return results
