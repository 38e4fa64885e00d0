"""A retriever with a time limit and a memory of what it found a while ago."""

import asyncio
from dataclasses import asdict, dataclass

from pydantic import TypeAdapter, ValidationError

from agents.memory.search_cache import SearchCache
from agents.sources.retrievers import Document, Results, Retriever, SearchFailed

_DOCUMENTS = TypeAdapter(list[Document])


@dataclass(frozen=True)
class Bounded:
    """Asks another retriever; `timeout` is in seconds, and so is `fresh`: how long what was found is told again."""

    inner: Retriever
    timeout: float
    cache: SearchCache | None = None
    fresh: float = 0

    @property
    def name(self) -> str:
        """The name of the other retriever."""
        return self.inner.name

    @property
    def reaches_out(self) -> bool:
        """Whether the other retriever carries the query to somebody outside."""
        return self.inner.reaches_out

    def description(self, lang: str) -> str:
        """Return the description of the other retriever."""
        return self.inner.description(lang)

    async def search(self, query: str, *, limit: int, lang: str) -> Results:
        """Return what was found lately, else search; see `Retriever`."""
        asked = self.name, " ".join(query.casefold().split()), limit, lang
        if (documents := await self._kept(asked)) is not None:
            return Results(documents)
        try:
            async with asyncio.timeout(self.timeout):
                results = await self.inner.search(query, limit=limit, lang=lang)
        except TimeoutError:
            raise SearchFailed(f"{self.name}: no answer within {self.timeout:g} seconds") from None
        if self.cache and self.fresh and results.documents:
            await self.cache.put(asked, [asdict(document) for document in results.documents], self.fresh)
        return results

    async def _kept(self, asked: tuple[object, ...]) -> list[Document] | None:
        records = await self.cache.get(asked, self.fresh) if self.cache and self.fresh else None
        try:
            return None if records is None else _DOCUMENTS.validate_python(records)
        except ValidationError:
            # Another version has kept it.
            return None
