"""One's own documents: the folders added with `python -m app index add`, and our help pages."""

import asyncio
import sqlite3
from dataclasses import dataclass, field

from dialogs.research.index import HELP, index_help
from dialogs.research.retrievers import Base, FoundDocument, Results, SearchFailed, Source
from prompts import translated


@dataclass(frozen=True)
class Documents(Base):
    """Searches the full-text index; the help pages come into it before the first search."""

    _lock: asyncio.Lock = field(default_factory=asyncio.Lock, compare=False, repr=False)

    @property
    def reaches_out(self) -> bool:
        """False: the index is a file of this machine."""
        return False

    async def search(self, query: str, *, limit: int, lang: str) -> Results:
        """Return the best sections; see `Retriever`."""
        try:
            async with self._lock:
                results = await asyncio.to_thread(self._search, query, limit, lang)
        except (sqlite3.Error, OSError) as fault:
            raise SearchFailed(f"the index of documents cannot be read ({type(fault).__name__})") from fault
        return results

    def _search(self, query: str, limit: int, lang: str) -> Results:
        index_help(self.services.index)
        # The help pages say the same in every language; a reader needs one of them.
        others = tuple(
            f"{HELP}/{other}" for other in translated("help") if other != lang and lang in translated("help")
        )
        passages = self.services.index.search(query, limit * (len(others) + 1), lang)
        own = [passage for passage in passages if not passage.url.startswith(others)]
        return Results(
            [FoundDocument(it.text, it.title, it.url, self.name, it.day or None, part=it.url) for it in own[:limit]]
        )


source = Source(make=Documents)
