"""Frequent simple requests that need no model: an example says the same, or the ranker is sure."""

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property

from agents.language.text.stems import stems
from agents.language.tool_ranker.features import Vector, features
from agents.language.tool_ranker.ranker import ToolRanker
from agents.language.tool_ranker.tool_entry import Card
from prompts import languages, table

Words = tuple[str, ...]
SURE = 0.9
"""The least share of the best tool among all tools."""
CLOSENESS = 0.45
"""The least similarity of the request to an example of the tool, from 0 to 1."""


class Shortcuts:
    """Tells which requests go straight to a tool; all tools compete, and those marked `shortcut` may win.

    A request is for a tool when it says the same as an example of this tool alone, fillers aside. It is also for the
    tool when it resembles an example, has no word that the tool's examples lack ("don't stop it" and "stop it at nine"
    are not "stop it"), and the ranker finds no other tool likely.
    """

    def __init__(self, cards: Sequence[Card], ranker: ToolRanker | None = None) -> None:
        self.cards = tuple(cards)
        self._trained = ranker
        self._fillers = {
            word for lang in languages() for filler in table("words", lang)["fillers"] for word in _stems(filler)
        }
        self._marked = [card for card in cards if card.shortcut]
        self._stems_of = {card.name: self._fillers.union(*map(_stems, card.whole_phrases())) for card in self._marked}
        self._askers: defaultdict[Words, set[str]] = defaultdict(set)
        for card in cards:
            for phrase in card.whole_phrases():
                self._askers[self._words(phrase)].add(card.name)

    def tool(self, request: str) -> str | None:
        """Return the name of the tool that a request is surely for, to be called without arguments."""
        return self.by_example(request) or (self.meant(request) if self.may_be_meant(request) else None)

    def by_example(self, request: str) -> str | None:
        """Return the tool of which an example says the same and of no other; at once."""
        name = self.by_any_example(request)
        return name if name in self._stems_of else None

    def by_any_example(self, request: str) -> str | None:
        """Return the one tool, marked or not, of which an example says the same; at once."""
        words = self._words(request)
        asking = self._askers.get(words, set()) if words else set()
        return next(iter(asking)) if len(asking) == 1 else None

    def may_be_meant(self, request: str) -> bool:
        """Tell whether `meant` could find a tool, at once."""
        words = self._words(request)
        return bool(words) and any(stems.issuperset(words) for stems in self._stems_of.values())

    def meant(self, request: str) -> str | None:
        """Return the tool that is far likelier than all others and has a like example; the first time takes seconds."""
        [best] = self._ranker.rank(request, 1)
        is_known = self._stems_of.get(best.name, set()).issuperset(self._words(request))
        return best.name if is_known and best.share >= SURE and self._close(request, best.name) else None

    @cached_property
    def _ranker(self) -> ToolRanker:
        return self._trained or ToolRanker(self.cards)

    @cached_property
    def _examples(self) -> dict[str, list[Vector]]:
        return {card.name: [self._vector(phrase) for phrase in card.whole_phrases()] for card in self._marked}

    def _words(self, text: str) -> Words:
        return tuple(word for word in _stems(text) if word not in self._fillers)

    def _close(self, request: str, name: str) -> bool:
        vector = self._vector(request)
        return any(_product(vector, example) >= CLOSENESS for example in self._examples[name])

    def _vector(self, text: str) -> Vector:
        return self._ranker.space.vector(features(text))


def _product(vector: Vector, other: Vector) -> float:
    return sum(value * other.get(name, 0.0) for name, value in vector.items())


def _stems(text: str) -> list[str]:
    return stems(text, "en")
