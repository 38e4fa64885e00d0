"""Web search without a key, by the package `ddgs`, which reads the pages of public search engines.

They refuse frequent requests; so this source is best placed behind another one.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dialogs.research.fields import address, number, text
from dialogs.research.retrievers import Base, Image, Kind, Results, SearchFailed, Source
from dialogs.research.retrievers.searxng import mime_type

REGIONS = {"en": "us-en", "ru": "ru-ru", "zh": "cn-zh", "de": "de-de", "fr": "fr-fr", "es": "es-es"}


@dataclass(frozen=True)
class Ddgs(Base):
    """Finds web pages, news or pictures; the package blocks, so it works in a thread."""

    kind: Kind = "web"

    async def search(self, query: str, *, limit: int, lang: str) -> Results:
        """Return the engines' results; see `Retriever`."""
        rows = await asyncio.to_thread(self._ask, query, limit, REGIONS.get(lang, "wt-wt"))
        documents = [self.document(row, "body", "date", self._image(row)) for row in rows]
        return Results([document for document in documents if document.url][:limit])

    def _ask(self, query: str, limit: int, region: str) -> Sequence[Mapping[str, object]]:
        from ddgs import DDGS
        from ddgs.exceptions import DDGSException

        engines = DDGS(timeout=int(self.services.fetcher.timeout))
        ask = {"web": engines.text, "news": engines.news, "images": engines.images}[self.kind]
        try:
            return list(ask(query, region=region, safesearch="moderate", max_results=limit))
        except DDGSException as fault:
            # This package also raises an exception for an empty result.
            if "no results" in str(fault).lower():
                return []
            raise SearchFailed(f"{self.name}: the search engines do not answer ({type(fault).__name__})") from fault

    def _image(self, row: Mapping[str, object]) -> Image | None:
        url = address(row, "image") if self.kind == "images" else ""
        if not url:
            return None
        size = number(row, "width"), number(row, "height")
        return Image(url, text(row, "title"), address(row, "thumbnail"), *size, mime_type(url), address(row, "url"))


source = Source(make=Ddgs)
