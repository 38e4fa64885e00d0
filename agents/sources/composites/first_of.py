"""Retrievers that stand in for each other: the first that finds something answers."""

from dataclasses import dataclass
from typing import ClassVar

from agents.sources.composites.composite import Composite, asked
from agents.sources.retrievers import Results, SearchFailed


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
