"""The numbers of a turn's sources: they run on over all its searches, in the order in which the calls were made."""

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from itertools import takewhile

from agents.state.citations import CitedSource
from agents.state.person import FoundSources, NumberedSource


class CitationRegistry:
    """Numbers the documents of calls that run side by side, no matter which of them ends first.

    A document that the turn has had already keeps its number.
    """

    def __init__(self, stored: FoundSources | None, turn: int, spoke: int, calls: Sequence[str]) -> None:
        """`stored` are the sources of the last turn that searched, `calls` the ids of the calls that run now.

        The user spoke in the turn `spoke`; later turns only answered a tool's question, so that numbers run on.
        """
        self._turn, self._former = turn, stored
        self._sources = [*stored["sources"]] if stored and stored["turn"] >= spoke else []
        self._numbers = {source["mark"]: number for number, source in enumerate(self._sources)}
        self._over = {call: asyncio.Event() for call in calls}

    @property
    def stored(self) -> FoundSources | None:
        """The sources to store: those of this turn; if it has none, those of the turn before."""
        return {"turn": self._turn, "sources": self._sources} if self._sources else self._former

    async def number(self, call: str, documents: Sequence[tuple[str, str, str]]) -> list[int]:
        """Return the numbers of a call's documents (title, address, text), once the calls before it have theirs."""
        await self._turn_of(call)
        numbers = [self._number(*document) for document in documents]
        self.finish(call)
        return numbers

    async def enter(self, call: str, sources: Mapping[int, CitedSource]) -> None:
        """Enter sources whose numbers are known: those of a call that is played again."""
        await self._turn_of(call)
        for number, source in sorted(sources.items()):
            if number == len(self._sources):
                self._sources.append(NumberedSource(**source, mark=""))
        self.finish(call)

    def finish(self, call: str) -> None:
        """Note that a call has all its numbers, or wants none."""
        if call in self._over:
            self._over[call].set()

    async def _turn_of(self, call: str) -> None:
        for earlier in takewhile(lambda each: each != call, self._over):
            await self._over[earlier].wait()

    def _number(self, title: str, url: str, text: str) -> int:
        mark = hashlib.sha256(f"{url}\n{title}\n{text}".encode()).hexdigest()[:16]
        if mark not in self._numbers:
            self._numbers[mark] = len(self._sources)
            self._sources.append(NumberedSource(title=title, url=url, mark=mark))
        return self._numbers[mark]
