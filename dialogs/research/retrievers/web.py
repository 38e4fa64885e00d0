"""The web by whichever search is set up: SearXNG, else Tavily, else the search without a key."""

from dialogs.research.retrievers import Kind, Means, Retriever, Source
from dialogs.research.retrievers.ddgs import Ddgs
from dialogs.research.retrievers.searxng import SearXNG
from dialogs.research.retrievers.tavily import Tavily


def web_search(name: str, means: Means, kind: Kind) -> Retriever:
    """Return the search of one kind that the settings have everything for."""
    if means.searxng_url:
        return SearXNG(name, means, kind)
    if means.tavily_key:
        return Tavily(name, means, kind)
    return Ddgs(name, means, kind)


source = Source(make=lambda name, means: web_search(name, means, "web"))
