"""Search: from queries to numbered documents, in steps that can be seen.

choose (which retriever answers), collect (all queries at once), check (has every query documents?), rank, cut (to the
number that was asked for), answer (what the model reads).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agents.events import Step
from dialogs.research.retrievers import Document, Results

SEARCH = "search"
"""The name of the tool."""
Tell = Callable[[Step, str, int], None]
"""Is told of a step that is over: what came of it, and its time in ms."""


@dataclass(frozen=True)
class SearchRequest:
    """What a model looks for."""

    queries: Sequence[str]
    """One for each thing, all different."""
    lang: str
    limit: int
    """How many documents are wanted for each query."""
    sources: Sequence[str] = ()
    """The retrievers that the model names; none leaves the choice to rules."""


@dataclass(frozen=True)
class QueryResult:
    """What was found for one query."""

    query: str
    collected: Sequence[Results] = ()
    """What each retriever found that was asked."""
    documents: Sequence[Document] = ()
    """The documents in one order, once they are ranked."""
    problem: str = ""
    """Why there are none, in words for a model."""

    @property
    def failures(self) -> dict[str, str]:
        """Which retrievers did not answer, and why."""
        return {name: why for results in self.collected for name, why in results.failures.items()}


class NothingFound(Exception):
    """No query has documents; the message tells a model so."""
