"""Frequent simple requests that need no model: an example says the same, and the ranker is sure."""

from collections import defaultdict

from agents.lexical import stems
from agents.retrievers.cards import Card
from agents.retrievers.features import Vector, features
from agents.retrievers.ranking import ToolRanker
from prompts import languages, table

Words = tuple[str, ...]
LEAD = 0.35
"""By how much the best tool has to lead the second, in points of the ranker."""
CLOSENESS = 0.5
"""How like one of the tool's whole examples the request has to be; 1 is the same."""


class Shortcuts:
    """Tells which requests go straight to a tool; all tools compete, and those marked `shortcut` may win."""

    def __init__(self, ranker: ToolRanker) -> None:
        self._ranker = ranker
        self._fillers = {
            word for lang in languages() for filler in table("words", lang)["fillers"] for word in _stems(filler)
        }
        marked = [card for card in ranker.cards if card.shortcut]
        self._said = {card.name: self._fillers.union(*map(_stems, card.whole_phrases())) for card in marked}
        self._examples = {card.name: self._vectors(card) for card in marked}
        self._askers: defaultdict[Words, set[str]] = defaultdict(set)
        for card in ranker.cards:
            for phrase in card.whole_phrases():
                self._askers[self._words(phrase)].add(card.name)

    def tool(self, request: str) -> str | None:
        """Return the name of the tool that a request is surely for, to be called without arguments.

        Sure is what an example of this tool alone says, fillers aside; or what leads every other tool, resembles an
        example that leaves nothing open, and has no word that the tool's examples lack: "don't stop it" and "stop it
        at nine" are not "stop it".
        """
        words = self._words(request)
        best = self._ranker.rank(request, 2)
        if not words or not best or best[0].name not in self._said:
            return None
        name, second = best[0].name, best[1].score if best[1:] else 0.0
        if self._askers.get(words) == {name}:
            return name
        leads = best[0].score - second >= LEAD
        return name if leads and self._said[name].issuperset(words) and self._close(request, name) else None

    def _words(self, text: str) -> Words:
        return tuple(word for word in _stems(text) if word not in self._fillers)

    def _close(self, request: str, name: str) -> bool:
        vector = self._ranker.space.vector(features(request))
        return any(_product(vector, example) >= CLOSENESS for example in self._examples[name])

    def _vectors(self, card: Card) -> list[Vector]:
        return [self._ranker.space.vector(features(phrase)) for phrase in card.whole_phrases()]


def _product(one: Vector, other: Vector) -> float:
    return sum(value * other.get(name, 0.0) for name, value in one.items())


def _stems(text: str) -> list[str]:
    return stems(text, "en")
