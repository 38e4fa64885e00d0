"""Research on the web: search, read the pages, and return the passages that fit best."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice

from agents.language.text.fulltext import Index, IndexEntry
from agents.language.text.vocabulary import small_words
from agents.sources.web.fetcher import FetchError
from dialogs.research.addresses import canonical
from dialogs.research.documents import passages
from dialogs.research.retrievers import Base, FoundDocument, Results, Retriever, Source
from dialogs.research.retrievers.web import web_search
from dialogs.research.web_page import page_text
from prompts import FALLBACK

PAGES = 8
"""The number of pages that are read for a query."""
AT_ONCE = 4
"""The number of pages whose texts are extracted at the same time."""
LONGEST_PASSAGE = 1_200
"""The most characters of a passage."""
PASSAGES = 200
"""The most passages of a page that are ranked."""
PER_PAGE = 3
"""The most passages of one page among the results."""


@dataclass(frozen=True)
class WebResearch(Base):
    """Reads pages; for an unreadable page, the search's own text counts."""

    engine: Retriever
    _slots: asyncio.Semaphore = field(default_factory=partial(asyncio.Semaphore, AT_ONCE), compare=False, repr=False)

    async def search(self, query: str, *, limit: int, lang: str) -> Results:
        """Return the best passages; see `Retriever`."""
        documents = (await self.engine.search(query, limit=PAGES, lang=lang)).documents
        hits = list({canonical(hit.url): hit for hit in documents}.values())
        read = await asyncio.gather(*(self._passages(hit) for hit in hits))
        return Results(await asyncio.to_thread(best, query, [part for page in read for part in page], limit, lang))

    async def _passages(self, hit: FoundDocument) -> list[FoundDocument]:
        found_as = replace(hit, retriever=self.name)
        try:
            download = await self.services.fetcher.page(hit.url)
            async with asyncio.timeout(self.services.fetcher.timeout), self._slots:
                page = await page_text(download)
        except (FetchError, TimeoutError):
            return [found_as]
        about = replace(
            found_as, url=download.url, title=page.title or hit.title, published=page.published or hit.published
        )
        texts = islice(passages(page.text, LONGEST_PASSAGE), PASSAGES)
        return [replace(about, text=text, part=str(number)) for number, text in enumerate(texts)]


def best(query: str, documents: Sequence[FoundDocument], limit: int, lang: str) -> list[FoundDocument]:
    """Return the documents that fit a query best, at most a few of each address.

    If none has a word of the query, the order of the search counts: the result is the beginning of each page.
    """
    entries = [IndexEntry(str(place), part.title, part.text) for place, part in enumerate(documents)]
    index = Index(entries, FALLBACK, weights=(0.5, 1.0), ignored=small_words(lang))
    chosen: list[FoundDocument] = []
    for hit in index.search(query, len(documents)):
        document = documents[int(hit.key)]
        if sum(other.url == document.url for other in chosen) < PER_PAGE:
            chosen.append(document)
    beginnings = {document.url: document for document in reversed(documents)}
    return (chosen or [*beginnings.values()][::-1])[:limit]


source = Source(make=lambda name, services: WebResearch(name, services, web_search(name, services, "web")), patience=3)
