"""The web, by the search that is set up: SearXNG, else Tavily, else the search without a key."""

from dialogs.research.retrievers import Kind, Retriever, RetrieverServices, Source
from dialogs.research.retrievers.ddgs import Ddgs
from dialogs.research.retrievers.searxng import SearXNG
from dialogs.research.retrievers.tavily import Tavily


def web_search(name: str, services: RetrieverServices, kind: Kind) -> Retriever:
    """Return the search of one kind whose settings are complete."""
    if services.searxng_url:
        return SearXNG(name, services, kind)
    if services.tavily_key:
        return Tavily(name, services, kind)
    return Ddgs(name, services, kind)


source = Source(make=lambda name, services: web_search(name, services, "web"))
