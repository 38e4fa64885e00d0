"""Pictures, by whichever search is set up."""

from dialogs.research.retrievers import Source
from dialogs.research.retrievers.web import web_search

source = Source(make=lambda name, means: web_search(name, means, "images"))
