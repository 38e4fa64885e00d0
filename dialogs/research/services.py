"""The retrievers of SEARCH_SOURCES, as a service."""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from langgraph.store.base import BaseStore

from agents.memory import Memory
from agents.sources.web.fetcher import Fetcher
from agents.toolkit.context import Context
from agents.toolkit.help import HelpRequest, look_up
from agents.toolkit.services import Services
from dialogs.research import retrievers
from dialogs.research.composites import Bounded, FirstOf, SearchCache, Together
from dialogs.research.index import DocumentIndex, index_file
from dialogs.research.retrievers import Retriever, RetrieverServices, Source
from dialogs.research.search import listed
from dialogs.research.settings import ResearchSettings, RetrieverPlan
from dialogs.research.vectors import Vectors, embedding_model
from prompts import sentence

LOCAL = "documents"
"""This source reads a file of this machine, so its results are not kept twice."""


@dataclass(frozen=True)
class Retrievers:
    """The retrievers by name; the first one answers a search that names none."""

    by_name: Mapping[str, Retriever] = field(default_factory=dict)

    @property
    def reach_out(self) -> bool:
        """Whether one of them sends queries outside, such as to the web."""
        return any(each.reaches_out for each in self.by_name.values())


@dataclass
class DocumentLink:
    """The link `documents` of HELP_CHAIN: look a question up in the documents that the operator has indexed."""

    index: DocumentIndex
    is_foreign: bool = False
    """Whether a document, whose words may be somebody else's, has answered."""
    name = "documents"
    reaches_out = False

    async def answer(self, question: HelpRequest) -> str | None:
        """Return the passage with most of the question's words, and its place; None if our pages have as many."""
        page = look_up(question.text, question.lang)
        words = len(page.words) if page else 0
        passage = await asyncio.to_thread(self.index.answering, question.text, question.lang, words)
        self.is_foreign |= passage is not None
        return f"{passage.title} ({passage.url})\n{passage.text}" if passage else None


@asynccontextmanager
async def open_services(services: Services) -> AsyncIterator[Sequence[object]]:
    """Open the retrievers and their cache; they work during the block."""
    settings, memory = services.get(ResearchSettings), services.get(Memory)
    cache = SearchCache(memory.now, settings.search_cache_minutes * 60)
    index = DocumentIndex(index_file(memory.storage.path))
    embedding = settings.embeddings_model, settings.embeddings_base_url, settings.embeddings_api_key
    async with (
        Fetcher(timeout=settings.search_timeout, inside=settings.search_internal) as fetcher,
        embedding_model(*embedding) as model,
    ):
        vectors = Vectors(index, model) if model else None
        retriever_services = RetrieverServices(
            index,
            fetcher,
            searxng_url=settings.searxng_url,
            tavily_url=settings.tavily_url,
            tavily_key=settings.tavily_api_key,
            wikipedia_url=settings.wikipedia_url,
            vectors=vectors,
        )
        sources = retrievers.discover()
        try:
            built = {
                plan.name: _built(plan, sources, retriever_services, settings, cache)
                for plan in settings.search_sources
            }
            yield [cache, index, Retrievers(built), *([vectors] if vectors else [])]
        finally:
            index.close()


async def forget(services: Services, thread: str, users: Collection[str]) -> None:
    """Delete the results of all searches, because they reveal the queries."""
    services.get(SearchCache).erase()


async def known_sources(context: Context, lang: str) -> Sequence[str]:
    """Return the dialog's line on the sources that its model can name, if there are several."""
    by_name = (context.services.find(Retrievers) or Retrievers()).by_name
    return [sentence("research/phrases", "sources", lang, sources=listed(by_name, lang))] if len(by_name) > 1 else []


async def told_of_the_web(context: Context, store: BaseStore, lang: str) -> Sequence[str]:
    """Return the supervisor's line on searches of the web: there are some, or none."""
    retrievers = context.services.find(Retrievers) or Retrievers()
    return [sentence("research/phrases", "with_web" if retrievers.reach_out else "without_web", lang)]


def _built(
    plan: RetrieverPlan,
    sources: Mapping[str, Source],
    retriever_services: RetrieverServices,
    settings: ResearchSettings,
    cache: SearchCache,
) -> Retriever:
    """Return the retriever of a plan; a single source or alternative is not wrapped."""

    def single(name: str) -> Retriever:
        source = sources[name]
        limit = settings.search_timeout * source.patience
        return Bounded(source.make(name, retriever_services), limit, None if name == LOCAL else cache)

    groups = [
        Together(plan.name, list(map(single, group))) if len(group) > 1 else single(group[0])
        for group in plan.alternatives
    ]
    return groups[0] if len(groups) == 1 else FirstOf(plan.name, groups)
