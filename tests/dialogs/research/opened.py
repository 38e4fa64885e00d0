"""Opens the retrievers that settings describe."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial

from agents.memory import Memory
from agents.toolkit.services import Services
from dialogs.research.composites import SearchCache
from dialogs.research.retrievers import Retriever
from dialogs.research.services import Retrievers, forget, open_services
from dialogs.research.settings import ResearchSettings


@asynccontextmanager
async def opened(memory: Memory, settings: ResearchSettings) -> AsyncIterator[Mapping[str, Retriever]]:
    """Yield the retrievers by name."""
    async with open_services(Services(memory, settings)) as services:
        yield Services(*services).get(Retrievers).by_name


@asynccontextmanager
async def cached(memory: Memory) -> AsyncIterator[SearchCache]:
    """Yield the cache of searches, which `forget` empties."""
    services = Services(memory, ResearchSettings())
    async with open_services(services) as made:
        services.add(*made)
        memory.erasers.append(partial(forget, services))
        yield services.get(SearchCache)
