"""A SearXNG server of one's own: web pages, news or pictures from its search engines.

The server must allow JSON (`search: formats: [html, json]` in its settings.yml); without it the answer is 403.
"""

import mimetypes
import re
from collections.abc import Mapping
from dataclasses import dataclass

from dialogs.research.fields import address, number, rows, text
from dialogs.research.retrievers import Base, Image, Kind, Results, Source

CATEGORIES: dict[Kind, str] = {"web": "general", "news": "news", "images": "images"}
_SIZE = re.compile(r"(\d{1,6})\s*[x×]\s*(\d{1,6})")


@dataclass(frozen=True)
class SearXNG(Base):
    """Searches one category of the server."""

    kind: Kind = "web"

    async def search(self, query: str, *, limit: int, lang: str) -> Results:
        """Return the server's results; see `Retriever`."""
        params = {
            "q": query,
            "format": "json",
            "language": lang,
            "categories": CATEGORIES[self.kind],
            "safesearch": "1",
        }
        url = f"{self.services.searxng_url.rstrip('/')}/search"
        answer = await self.answer(url, params=params)
        documents = [
            self.document(row, "content", "publishedDate", _image(row) if self.kind == "images" else None)
            for row in rows(answer, "results")
            if address(row, "url")
        ]
        return Results([document for document in documents if self.kind != "images" or document.image][:limit])


def _image(row: Mapping[str, object]) -> Image | None:
    url = address(row, "img_src")
    if not url:
        return None
    size = _SIZE.search(text(row, "resolution", "img_format"))
    width, height = (int(size[1]), int(size[2])) if size else (number(row, "width"), number(row, "height"))
    kind = mime_type(url, text(row, "img_format"))
    thumbnail = address(row, "thumbnail_src", "thumbnail")
    return Image(url, text(row, "title"), thumbnail, width, height, kind, address(row, "url"))


def mime_type(url: str, name: str = "") -> str:
    """Return the media type of a picture by a service's name for it ("png") or by its address; empty if unknown."""
    guesses = (mimetypes.guess_type(f"picture.{name.lower()}"), mimetypes.guess_type(url.partition("?")[0]))
    return next((kind for kind, _ in guesses if kind and kind.startswith("image/")), "")


source = Source(make=SearXNG, needs=("searxng_url",))
