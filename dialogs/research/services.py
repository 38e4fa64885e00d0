"""The retrievers that SEARCH_SOURCES names."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from agents.memory import Memory
from agents.sources.documents.index import DocumentIndex, index_file
from agents.sources.web.fetcher import Fetcher
from agents.toolkit.context import Context
from agents.toolkit.services import Services
from dialogs.research import retrievers
from dialogs.research.composites import Bounded, FirstOf, Together
from dialogs.research.retrievers import Means, Retriever, Source
from dialogs.research.search import listed
from dialogs.research.settings import Plan, ResearchSettings
from dialogs.research.store import SearchCache
from prompts import sentence

LOCAL = "documents"
"""Reads a file of this machine, so that nothing of it is kept twice."""


@dataclass(frozen=True)
class Retrievers:
    """What searches documents, by name; the first one answers where nobody names another."""

    by_name: Mapping[str, Retriever] = field(default_factory=dict)

    @property
    def reach_out(self) -> bool:
        """Whether any of them carries a query to somebody outside."""
        return any(retriever.reaches_out for retriever in self.by_name.values())


@asynccontextmanager
async def open_services(services: Services) -> AsyncIterator[Sequence[object]]:
    """Open the retrievers and their cache; they work during the block."""
    settings, memory = services.get(ResearchSettings), services.get(Memory)
    cache = SearchCache(memory.database, memory.now)
    index = DocumentIndex(index_file(memory.path))
    async with Fetcher(timeout=settings.search_timeout, inside=settings.search_internal) as fetcher:
        means = Means(
            index,
            fetcher,
            searxng_url=settings.searxng_url,
            tavily_url=settings.tavily_url,
            tavily_key=settings.tavily_api_key,
            wikipedia_url=settings.wikipedia_url,
        )
        sources = retrievers.discover()
        try:
            built = {plan.name: _built(plan, sources, means, settings, cache) for plan in settings.search_sources}
            yield [cache, Retrievers(built)]
        finally:
            index.close()


async def forget(services: Services, thread: str, users: Collection[str]) -> None:
    """Delete all that searches have found: it tells what somebody had asked for."""
    await services.get(SearchCache).erase()


async def known_sources(context: Context, lang: str) -> Sequence[str]:
    """Tell the dialog's model which sources it can name, if there are several."""
    by_name = (context.services.find(Retrievers) or Retrievers()).by_name
    return [sentence("research/phrases", "sources", lang, sources=listed(by_name, lang))] if len(by_name) > 1 else []


def _built(
    plan: Plan, sources: Mapping[str, Source], means: Means, settings: ResearchSettings, cache: SearchCache
) -> Retriever:
    """Return what a plan describes; a source alone, or the only alternative, is not wrapped."""

    def single(name: str) -> Retriever:
        source = sources[name]
        kept = None if name == LOCAL else cache
        limit = settings.search_timeout * source.patience
        return Bounded(source.make(name, means), limit, kept, settings.search_cache_minutes * 60)

    groups = [
        Together(plan.name, list(map(single, group))) if len(group) > 1 else single(group[0])
        for group in plan.alternatives
    ]
    return groups[0] if len(groups) == 1 else FirstOf(plan.name, groups)
