"""News, by the search that is set up."""

from dialogs.research.retrievers import Source
from dialogs.research.retrievers.web import web_search

source = Source(make=lambda name, services: web_search(name, services, "news"))
