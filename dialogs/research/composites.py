"""Composites: retrievers made of retrievers, as the setting SEARCH_SOURCES combines them."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import ClassVar

from pydantic import TypeAdapter, ValidationError

from agents.sources.web.addresses import canonical
from dialogs.research.retrievers import Document, Results, Retriever, SearchFailed
from dialogs.research.store import SearchCache
from prompts import sentence

LOG = logging.getLogger(__name__)
CONSTANT = 60
"""What weakens the first ranks in reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009)."""
_DOCUMENTS = TypeAdapter(list[Document])


@dataclass(frozen=True)
class Composite:
    """A retriever made of retrievers; `sort` names its sentence in `prompts/<lang>/retrievers.toml`."""

    sort: ClassVar[str]
    name: str
    retrievers: Sequence[Retriever]

    @property
    def reaches_out(self) -> bool:
        """Whether any of its retrievers carries the query to somebody outside."""
        return any(retriever.reaches_out for retriever in self.retrievers)

    def description(self, lang: str) -> str:
        """Return what its retrievers are good for."""
        descriptions = [retriever.description(lang) for retriever in self.retrievers]
        return sentence("research/retrievers", self.sort, lang, names="; ".join(descriptions))


async def asked(retriever: Retriever, query: str, limit: int, lang: str) -> Results:
    """Return what a retriever found, or its failure; a bug of one does not end the search of the others."""
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
    """Asks one after the other; one that finds nothing counts like one that fails."""

    sort: ClassVar[str] = "first_of"

    async def search(self, query: str, *, limit: int, lang: str) -> Results:
        """Return what the first that found something has; see `Retriever`.

        Raises:
            SearchFailed: none found anything, and all of them failed.
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
    """Asks all at the same time; those that fail are named in the results."""

    sort: ClassVar[str] = "together"

    async def search(self, query: str, *, limit: int, lang: str) -> Results:
        """Return the best documents of all; see `Retriever`. Raises SearchFailed: none of them could search."""
        outcomes = await asyncio.gather(*(asked(retriever, query, limit, lang) for retriever in self.retrievers))
        failures = {name: why for outcome in outcomes for name, why in outcome.failures.items()}
        documents = fused([outcome.documents for outcome in outcomes])[:limit]
        if not documents and len(failures) >= len(self.retrievers):
            raise SearchFailed("; ".join(failures.values()), failures)
        return Results(documents, failures)


def fused(rankings: Sequence[Sequence[Document]]) -> list[Document]:
    """Return the documents of several rankings in one, each page and passage once: the more ranks, and the higher,
    the better.
    """
    scores: dict[tuple[str, str], float] = {}
    documents: dict[tuple[str, str], Document] = {}
    for ranking in rankings:
        for rank, document in enumerate(ranking, 1):
            key = _key(document)
            scores[key] = scores.get(key, 0.0) + 1 / (CONSTANT + rank)
            documents.setdefault(key, document)
    return sorted(documents.values(), key=lambda document: -scores[_key(document)])


def _key(document: Document) -> tuple[str, str]:
    # A picture is another thing than the page that shows it.
    return canonical(document.url), document.image.url if document.image else ""


@dataclass(frozen=True)
class Bounded:
    """Asks another retriever; `timeout` is in seconds, and so is `fresh`: how long what was found is told again."""

    inner: Retriever
    timeout: float
    cache: SearchCache | None = None
    fresh: float = 0

    @property
    def name(self) -> str:
        """The name of the other retriever."""
        return self.inner.name

    @property
    def reaches_out(self) -> bool:
        """Whether the other retriever carries the query to somebody outside."""
        return self.inner.reaches_out

    def description(self, lang: str) -> str:
        """Return the description of the other retriever."""
        return self.inner.description(lang)

    async def search(self, query: str, *, limit: int, lang: str) -> Results:
        """Return what was found lately, else search; see `Retriever`."""
        asked = self.name, " ".join(query.casefold().split()), limit, lang
        if (documents := await self._kept(asked)) is not None:
            return Results(documents)
        try:
            async with asyncio.timeout(self.timeout):
                results = await self.inner.search(query, limit=limit, lang=lang)
        except TimeoutError:
            raise SearchFailed(f"{self.name}: no answer within {self.timeout:g} seconds") from None
        if self.cache and self.fresh and results.documents:
            await self.cache.put(asked, [asdict(document) for document in results.documents], self.fresh)
        return results

    async def _kept(self, asked: tuple[object, ...]) -> list[Document] | None:
        records = await self.cache.get(asked, self.fresh) if self.cache and self.fresh else None
        try:
            return None if records is None else _DOCUMENTS.validate_python(records)
        except ValidationError:
            # Another version has kept it.
            return None
