"""Wikipedia in the user's language: facts, without a key."""

from dataclasses import dataclass
from urllib.parse import quote

from dialogs.research.fields import number, rows, text
from dialogs.research.retrievers import Base, FoundDocument, Results, Source

MOST_ARTICLES = 20
"""The most articles whose beginnings the server gives at once."""
LENGTH = 1_200
"""The most characters of an article's beginning."""


@dataclass(frozen=True)
class Wikipedia(Base):
    """Finds articles and their beginnings with the MediaWiki API."""

    async def search(self, query: str, *, limit: int, lang: str) -> Results:
        """Return the articles that fit best; see `Retriever`."""
        root = self.services.wikipedia_url.format(lang=lang).rstrip("/")
        params = {
            "action": "query",
            "format": "json",
            "formatversion": "2",
            "generator": "search",
            "gsrsearch": query,
            "gsrlimit": str(min(limit, MOST_ARTICLES)),
            "prop": "extracts",
            "exintro": "1",
            "explaintext": "1",
            "exchars": str(LENGTH),
            "exlimit": str(MOST_ARTICLES),
        }
        answer = await self.answer(f"{root}/w/api.php", params=params)
        query_part = answer.get("query") if isinstance(answer, dict) else None
        pages = sorted(rows(query_part, "pages"), key=lambda page: number(page, "index") or MOST_ARTICLES)
        titles = [(text(page, "title"), text(page, "extract")) for page in pages]
        return Results(
            [
                FoundDocument(extract, title, f"{root}/wiki/{quote(title.replace(' ', '_'))}", self.name)
                for title, extract in titles
                if title and extract
            ][:limit]
        )


source = Source(make=Wikipedia)
