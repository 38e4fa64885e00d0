"""Ranks tools by a request: full-text search and a linear model over the same cards, their scores added."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agents.fulltext import Entry, Index
from agents.retrievers.cards import Card
from agents.retrievers.features import Space, features
from agents.retrievers.linear import Linear

WORDS = 0.02
"""What one point of BM25 is worth in points of the linear model."""
CONTEXT = 0.2
"""What the context counts beside the request."""
EVEN, STEEPNESS = 0.5, 4.0
"""The best score at which a request is as likely for a tool as not, and how fast that changes around it."""
LONGEST = 2_000
"""Characters of a request, and of its context, that are looked at."""


@dataclass(frozen=True)
class Hit:
    """A tool and how well it fits the request; the scores of one request can be compared."""

    name: str
    score: float


class ToolRanker:
    """Knows some tools by their cards; trained when it is made, in about a second for some thousand examples."""

    def __init__(self, cards: Sequence[Card]) -> None:
        self.cards = tuple(cards)
        texts = [(text, number) for number, card in enumerate(cards) for text in card.texts()]
        counted = [(features(text), number) for text, number in texts]
        self.space = Space(counts for counts, _ in counted)
        self._linear = Linear(len(cards), [(self.space.vector(counts), number) for counts, number in counted])
        self._index = Index((Entry(str(number), "", " ".join(card.texts())) for number, card in enumerate(cards)), "en")

    def rank(self, query: str, limit: int, context: Iterable[str] = ()) -> list[Hit]:
        """Return the best tools for a request, best first.

        `context` is what was said and shown lately, newest first: it decides where the request alone says little.
        """
        scores = self._scores(query)
        if background := " ".join(context):
            scores = [score + CONTEXT * other for score, other in zip(scores, self._scores(background), strict=True)]
        best = sorted(range(len(scores)), key=lambda number: -scores[number])[:limit]
        return [Hit(self.cards[number].name, scores[number]) for number in best]

    def likelihood(self, query: str) -> float:
        """Return how likely it is, from 0 to 1, that a request is for one of the tools at all."""
        best = max(self._scores(query), default=0.0)
        return 1 / (1 + math.exp(-STEEPNESS * (best - EVEN)))

    def _scores(self, text: str) -> list[float]:
        text = text[:LONGEST]
        scores = self._linear.scores(self.space.vector(features(text)))
        for hit in self._index.search(text, len(self.cards)):
            scores[int(hit.key)] += WORDS * hit.score
        return scores
