"""The steps from a request to its documents; each is told with its time."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from agents.events import Step
from dialogs.research.composites import asked
from dialogs.research.retrievers import Results, Retriever
from dialogs.research.search import NothingFound, QueryResult, SearchRequest, Tell
from dialogs.research.search.choice import choose
from dialogs.research.search.foreign_text import foreign_document, foreign_line
from dialogs.research.search.ranking import cut, ranked
from prompts import sentence

LONGEST_NAMED = 80
"""Characters of a query in the words about it."""


class Stopwatch:
    """Tells of each step that is over, with its time."""

    def __init__(self, tell: Tell) -> None:
        self._tell, self._begun = tell, time.perf_counter()

    def over(self, step: Step, detail: str) -> None:
        """Tell that a step is over, and begin to time the next one."""
        now = time.perf_counter()
        self._tell(step, detail, round((now - self._begun) * 1000))
        self._begun = now


async def search(
    request: SearchRequest, retrievers: Mapping[str, Retriever], watch: Stopwatch
) -> Sequence[QueryResult]:
    """Return the documents for each query, the best first, at most as many as were asked for.

    Raises:
        NothingFound: no query has documents, or there is no such retriever.
    """
    chosen = choose(request, retrievers)
    watch.over("choose", ", ".join(retriever.name for retriever in chosen))
    results: Sequence[QueryResult] = await collect(request, chosen)
    watch.over("collect", _collected(results))
    results = [check(result, request.lang) for result in results]
    missing = [result.problem for result in results if result.problem]
    watch.over("check", f"documents for {len(results) - len(missing)} of {len(results)} queries")
    if len(missing) == len(results):
        raise NothingFound("\n".join(missing))
    results = [ranked(result) for result in results]
    watch.over("rank", f"{_count(results)} different documents")
    results = cut(results, request.limit)
    watch.over("cut", f"{_count(results)} documents")
    return results


async def collect(request: SearchRequest, retrievers: Sequence[Retriever]) -> list[QueryResult]:
    """Ask every retriever every query, all at once; what fails is noted beside what the others found."""

    async def collected(query: str) -> QueryResult:
        answers = (asked(retriever, query, request.limit, request.lang) for retriever in retrievers)
        return QueryResult(query, [_as_data(results) for results in await asyncio.gather(*answers)])

    return await asyncio.gather(*(collected(query) for query in request.queries))


def check(result: QueryResult, lang: str) -> QueryResult:
    """Return the result, with words for a model if no retriever has found a document for its query."""
    if any(each.documents for each in result.collected):
        return result
    failures = "; ".join(f"{name}: {why}" for name, why in result.failures.items())
    key = "nothing_but_failures" if failures else "nothing_found"
    return replace(
        result, problem=sentence("research/phrases", key, lang, query=result.query[:LONGEST_NAMED], failures=failures)
    )


def _collected(results: Sequence[QueryResult]) -> str:
    """Return what the retrievers found and which of them failed, for whoever reads the trace."""
    count = sum(len(each.documents) for result in results for each in result.collected)
    failures = [f"{name} failed: {why}" for result in results for name, why in result.failures.items()]
    return "; ".join([f"{count} documents for {len(results)} queries", *dict.fromkeys(failures)])


def _count(results: Sequence[QueryResult]) -> int:
    return sum(len(result.documents) for result in results)


def _as_data(results: Results) -> Results:
    failures = {name: foreign_line(why) for name, why in results.failures.items()}
    return Results([foreign_document(document) for document in results.documents], failures)
