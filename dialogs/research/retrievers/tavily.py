"""Tavily, a web search for models that needs a key."""

from collections.abc import Mapping
from dataclasses import dataclass

from dialogs.research.fields import address, rows, text
from dialogs.research.retrievers import Base, FoundDocument, Image, Kind, Results, Source
from dialogs.research.retrievers.searxng import mime_type

MOST_RESULTS = 20
"""The most results that the service gives."""


@dataclass(frozen=True)
class Tavily(Base):
    """Finds web pages, news or pictures with the service."""

    kind: Kind = "web"

    async def search(self, query: str, *, limit: int, lang: str) -> Results:
        """Return the service's results; see `Retriever`."""
        body = {
            "query": query,
            "max_results": min(limit, MOST_RESULTS),
            "topic": "news" if self.kind == "news" else "general",
            "include_images": self.kind == "images",
            "include_image_descriptions": self.kind == "images",
        }
        key = self.services.tavily_key
        headers = {"Authorization": f"Bearer {key.get_secret_value()}"} if key else {}
        url = f"{self.services.tavily_url.rstrip('/')}/search"
        answer = await self.answer(url, body=body, headers=headers)
        if self.kind == "images":
            return Results([self._picture(row) for row in rows(answer, "images") if address(row, "url")][:limit])
        documents = [self.document(row, "content", "published_date") for row in rows(answer, "results")]
        return Results([document for document in documents if document.url][:limit])

    def _picture(self, row: Mapping[str, object]) -> FoundDocument:
        # The service gives neither the page nor the size.
        url, title = address(row, "url"), text(row, "description")
        return FoundDocument(title, title, url, self.name, None, Image(url, title, "", None, None, mime_type(url), url))


source = Source(make=Tavily, needs=("tavily_api_key",))
