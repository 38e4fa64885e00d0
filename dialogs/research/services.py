"""Build the retrievers that SEARCH_SOURCES names; a wrong setting stops the start."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from agents.errors import ConfigError
from agents.memory import Memory
from dialogs.research.cache import SearchCache
from dialogs.research import retrievers
from dialogs.research.composites import Bounded
from dialogs.research.composites import FirstOf
from dialogs.research.plan import Plan
from dialogs.research.composites import Together
from agents.sources.documents.index import DocumentIndex
from dialogs.research.retrievers import Means, Retriever, Source
from agents.sources.web.fetcher import Fetcher
from agents.sources.web.ssrf import policy_of
from app.settings import Settings

LOCAL = "documents"
"""Reads a file of this machine, so that nothing of it is kept twice."""


@asynccontextmanager
async def open_retrievers(settings: Settings, memory: Memory) -> AsyncIterator[Mapping[str, Retriever]]:
    """Yield the retrievers by name, the one that answers by default first; they work during the block.

    Raises:
        ConfigError: a source does not exist, or lacks a setting.
        ContractError, PromptError: a file of `dialogs/research/retrievers/` breaks a rule.
    """
    check_search(settings)
    sources = retrievers.discover()
    async with Fetcher(timeout=settings.search_timeout, inside=settings.search_internal) as fetcher:
        means = _means(settings, DocumentIndex(index_file(memory.path)), fetcher)
        try:
            yield {
                plan.name: _built(plan, sources, means, settings, memory.search_cache)
                for plan in settings.search_sources
            }
        finally:
            means.index.close()


def index_file(database: Path) -> Path:
    """Return where the index of documents lies: beside the database."""
    return database.with_name(f"{database.stem}.documents.db")


def check_search(settings: Settings) -> None:
    """Check that the sources exist and have the settings that they need.

    Raises:
        ConfigError: a source does not exist or lacks a setting, or an address cannot be used.
    """
    sources = retrievers.discover()
    for name in dict.fromkeys(name for plan in settings.search_sources for name in plan.sources):
        if name not in sources:
            raise ConfigError(f"SEARCH_SOURCES names {name!r}; there are {', '.join(sources)}")
        for setting in sources[name].needs:
            if not getattr(settings, setting):
                raise ConfigError(f"SEARCH_SOURCES: {name} needs {setting.upper()} (see .env.example)")
    addresses = {
        "SEARXNG_URL": settings.searxng_url,
        "TAVILY_URL": settings.tavily_url,
        "WIKIPEDIA_URL": settings.wikipedia_url.replace("{lang}", "en"),
    }
    for setting, address in [*addresses.items(), *(("SEARCH_INTERNAL", place) for place in settings.search_internal)]:
        try:
            if address:
                policy_of(address, internal=True)
        except ValueError as wrong:
            raise ConfigError(f"{setting} {wrong}") from None


def _means(settings: Settings, index: DocumentIndex, fetcher: Fetcher) -> Means:
    return Means(
        index,
        fetcher,
        searxng_url=settings.searxng_url,
        tavily_url=settings.tavily_url,
        tavily_key=settings.tavily_api_key,
        wikipedia_url=settings.wikipedia_url,
    )


def _built(
    plan: Plan, sources: Mapping[str, Source], means: Means, settings: Settings, cache: SearchCache
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
