"""Several retrievers at once: what any of them found, ranked by all of them."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from agents.sources.composites.composite import Composite, asked
from agents.sources.retrievers import Document, Results, SearchFailed
from agents.sources.web.addresses import canonical

CONSTANT = 60
"""What weakens the first ranks in reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009)."""


@dataclass(frozen=True)
class Together(Composite):
    """Asks all at the same time; those that fail are named in the results."""

    sort: ClassVar[str] = "together"

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
