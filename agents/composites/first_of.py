"""Retrievers that stand in for each other: the first that finds something answers."""

from collections.abc import Sequence
from dataclasses import dataclass

from agents.composites.together import asked, listed
from agents.retrievers import Results, Retriever, SearchFailed


@dataclass(frozen=True)
class FirstOf:
    """Asks one after the other; one that finds nothing counts like one that fails."""

    name: str
    retrievers: Sequence[Retriever]

    @property
    def reaches_out(self) -> bool:
        """Whether any of its retrievers carries the query to somebody outside."""
        return any(retriever.reaches_out for retriever in self.retrievers)

    def description(self, lang: str) -> str:
        """Return what its retrievers are good for."""
        return listed("first_of", self.retrievers, lang)

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
