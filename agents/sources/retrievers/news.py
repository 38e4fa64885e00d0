"""News, by whichever search is set up."""

from agents.sources.retrievers import Source
from agents.sources.retrievers.web import web_search

source = Source(make=lambda name, means: web_search(name, means, "news"))
