"""Several retrievers at once: what any of them found, ranked by all of them."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from agents.retrievers import Document, Results, Retriever, SearchFailed
from agents.web.addresses import canonical
from prompts import sentence

LOG = logging.getLogger(__name__)
CONSTANT = 60
"""What weakens the first ranks in reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009)."""


@dataclass(frozen=True)
class Together:
    """Asks all at the same time; those that fail are named in the results."""

    name: str
    retrievers: Sequence[Retriever]

    @property
    def reaches_out(self) -> bool:
        """Whether any of its retrievers carries the query to somebody outside."""
        return any(retriever.reaches_out for retriever in self.retrievers)

    def description(self, lang: str) -> str:
        """Return what its retrievers are good for."""
        return listed("together", self.retrievers, lang)

    async def search(self, query: str, *, limit: int, lang: str) -> Results:
        """Return the best documents of all; see `Retriever`.

        Raises:
            SearchFailed: none of them could search.
        """
        outcomes = await asyncio.gather(*(asked(retriever, query, limit, lang) for retriever in self.retrievers))
        failures = {name: why for outcome in outcomes for name, why in outcome.failures.items()}
        documents = fused([outcome.documents for outcome in outcomes])[:limit]
        if not documents and len(failures) >= len(self.retrievers):
            raise SearchFailed("; ".join(failures.values()), failures)
        return Results(documents, failures)


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


def listed(sort: str, retrievers: Sequence[Retriever], lang: str) -> str:
    """Return the description of a composite, which names what it is made of."""
    return sentence("retrievers", sort, lang, names="; ".join(part.description(lang) for part in retrievers))


def _key(document: Document) -> tuple[str, str]:
    # A picture is another thing than the page that shows it.
    return canonical(document.url), document.image.url if document.image else ""
