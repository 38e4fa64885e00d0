"""News, by whichever search is set up."""

from agents.retrievers import Source
from agents.retrievers.web import web_search

source = Source(make=lambda name, means: web_search(name, means, "news"))
