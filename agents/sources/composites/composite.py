"""What all composites have in common: a name, their retrievers, and a description made of theirs."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from agents.sources.retrievers import Results, Retriever, SearchFailed
from prompts import sentence

LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Composite:
    """A retriever made of retrievers; `sort` names its sentence in `prompts/<lang>/retrievers.toml`."""

    sort: ClassVar[str]
    name: str
    retrievers: Sequence[Retriever]

    @property
    def reaches_out(self) -> bool:
        """Whether any of its retrievers carries the query to somebody outside."""
        return any(retriever.reaches_out for retriever in self.retrievers)

    def description(self, lang: str) -> str:
        """Return what its retrievers are good for."""
        descriptions = [retriever.description(lang) for retriever in self.retrievers]
        return sentence("retrievers", self.sort, lang, names="; ".join(descriptions))


async def asked(retriever: Retriever, query: str, limit: int, lang: str) -> Results:
    """Return what a retriever found, or its failure; a bug of one does not end the search of the others."""
    try:
        return await retriever.search(query, limit=limit, lang=lang)
    except SearchFailed as failure:
        return Results(failures=failure.failures or {retriever.name: str(failure)})
    except Exception as bug:
        # No traceback: it may quote the query.
        LOG.warning("search: %s failed (%s)", retriever.name, type(bug).__name__)
        return Results(failures={retriever.name: f"{retriever.name}: an error ({type(bug).__name__})"})
