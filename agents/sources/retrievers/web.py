"""The web by whichever search is set up: SearXNG, else Tavily, else the search without a key."""

from agents.sources.retrievers import Kind, Means, Retriever, Source
from agents.sources.retrievers.ddgs import Ddgs
from agents.sources.retrievers.searxng import SearXNG
from agents.sources.retrievers.tavily import Tavily


def web_search(name: str, means: Means, kind: Kind) -> Retriever:
    """Return the search of one kind that the settings have everything for."""
    if means.searxng_url:
        return SearXNG(name, means, kind)
    if means.tavily_key:
        return Tavily(name, means, kind)
    return Ddgs(name, means, kind)


source = Source(make=lambda name, means: web_search(name, means, "web"))
