"""A library for tests: a retriever over documents in memory that can be slow, empty or out of order."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from agents.language.text.stems import stems
from dialogs.research.retrievers import FoundDocument, Image, Results, SearchFailed
from tests.support.simulated_time import rounds


@dataclass
class Library:
    """Finds the documents that share a word with the query."""

    documents: Sequence[FoundDocument] = ()
    name: str = "library"
    reaches_out: bool = False
    failure: str = ""
    """The message of a failed search."""
    gates: dict[str, asyncio.Event] = field(default_factory=dict)
    """Queries that are answered only when their event is set."""
    asked: list[str] = field(default_factory=list)
    running: int = 0
    most_at_once: int = 0

    def description(self, lang: str) -> str:
        """Return the description of the source."""
        return f"{self.name} ({lang})"

    async def search(self, query: str, *, limit: int, lang: str) -> Results:
        """Return the documents in their order, once all that came at the same time have been counted."""
        self.asked.append(query)
        self.running += 1
        self.most_at_once = max(self.most_at_once, self.running)
        try:
            await rounds(1)
            if gate := self.gates.get(query):
                await gate.wait()
            if self.failure:
                raise SearchFailed(self.failure)
        finally:
            self.running -= 1
        wanted = set(stems(query, lang))
        fitting = [each for each in self.documents if wanted & set(stems(f"{each.title} {each.text}", lang))]
        return Results(fitting[:limit])


def page(title: str, text: str, url: str = "", image: Image | None = None) -> FoundDocument:
    """Return a document of the library."""
    return FoundDocument(
        text, title, url or f"https://library.example/{title.replace(' ', '-')}", "library", image=image
    )
