"""One's own documents, found by their meaning: `python -m app research embed` makes the vectors."""

import sqlite3
from dataclasses import dataclass

from agents.models.failures import cause_of
from dialogs.research.retrievers import Base, FoundDocument, Results, SearchFailed, Source


@dataclass(frozen=True)
class Meaning(Base):
    """Lets the model make a vector of the query, and finds the passages with the nearest vectors."""

    @property
    def reaches_out(self) -> bool:
        """Whether the model that gets the query runs outside this machine."""
        return not (self.services.vectors and self.services.vectors.model.is_local)

    async def search(self, query: str, *, limit: int, lang: str) -> Results:
        """Return the nearest passages; see `Retriever`."""
        assert self.services.vectors is not None  # the source needs the setting that makes them
        try:
            passages = await self.services.vectors.nearest(query, limit)
        except (sqlite3.Error, OSError) as fault:
            raise SearchFailed(f"the vectors of documents cannot be read ({type(fault).__name__})") from fault
        except Exception as failure:
            raise SearchFailed(f"{self.name}: {cause_of(failure)}") from failure
        return Results([FoundDocument(it.text, it.title, it.url, self.name, part=it.url) for it in passages])


source = Source(make=Meaning, needs=("embeddings_model",))
