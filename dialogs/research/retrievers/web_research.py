"""Research on the web: search, read the pages that were found, and return their passages that fit best."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from agents.language.text.fulltext import Entry, Index
from agents.language.text.vocabulary import small_words
from agents.sources.documents.markdown import passages
from agents.sources.web.addresses import canonical
from agents.sources.web.fetcher import NotFetched, page_text
from dialogs.research.retrievers import Base, Document, Means, Results, Retriever, Source
from dialogs.research.retrievers.web import web_search
from prompts import FALLBACK

PAGES = 8
"""Pages that are read for a query."""
LONGEST_PASSAGE = 1_200
"""Characters of a passage."""
PASSAGES = 200
"""Passages of a page that are looked at."""
PER_PAGE = 3
"""Passages of one page among the results."""


@dataclass(frozen=True)
class WebResearch(Base):
    """Read pages; one that cannot be read stands with what the search said of it."""

    engine: Retriever

    async def search(self, query: str, *, limit: int, lang: str) -> Results:
        """Return the best passages; see `Retriever`."""
        documents = (await self.engine.search(query, limit=PAGES, lang=lang)).documents
        hits = list({canonical(hit.url): hit for hit in documents}.values())
        read = await asyncio.gather(*(self._passages(hit) for hit in hits))
        return Results(await asyncio.to_thread(best, query, [part for page in read for part in page], limit, lang))

    async def _passages(self, hit: Document) -> list[Document]:
        found_as = replace(hit, retriever=self.name)
        try:
            download = await self.means.fetcher.page(hit.url)
            page = await asyncio.to_thread(page_text, download)
        except NotFetched:
            return [found_as]
        about = replace(
            found_as, url=download.url, title=page.title or hit.title, published=page.published or hit.published
        )
        return [replace(about, text=text) for text in list(passages(page.text, LONGEST_PASSAGE))[:PASSAGES]]


def best(query: str, documents: Sequence[Document], limit: int, lang: str) -> list[Document]:
    """Return the documents that fit a query best, at most a few of each address."""
    entries = [Entry(str(place), part.title, part.text) for place, part in enumerate(documents)]
    index = Index(entries, FALLBACK, weights=(0.5, 1.0), ignored=small_words(lang))
    chosen: list[Document] = []
    for hit in index.search(query, len(documents)):
        document = documents[int(hit.key)]
        if sum(other.url == document.url for other in chosen) < PER_PAGE:
            chosen.append(document)
    return chosen[:limit]


def _made(name: str, means: Means) -> WebResearch:
    return WebResearch(name, means, web_search(name, means, "web"))


source = Source(make=_made, patience=3)
