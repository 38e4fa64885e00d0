"""Ranks tools by a request: full-text search and a linear model over the same cards, their scores added."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agents.language.text.fulltext import Entry, Index
from agents.language.tool_ranker.features import Space, features
from agents.language.tool_ranker.linear_model import Linear
from agents.language.tool_ranker.tool_entry import Card

WORD_WEIGHT = 0.1
"""The weight of a point of BM25, in log-odds of the linear model."""
CONTEXT_WEIGHT = 0.35
"""The weight of the context, where the request has 1."""
LONGEST_REQUEST = 2_000
"""Characters of a request, and of its context, that are looked at."""


@dataclass(frozen=True)
class Hit:
    """A tool and how well it fits the request. If the best tools have low scores, none fits."""

    name: str
    score: float
    share: float
    """How likely it is, from 0 to 1, that the request is for this tool, if it is for any."""


class ToolRanker:
    """Knows some tools by their cards; trained when it is made, in a second or two for some thousand examples."""

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
            scores = [
                score + CONTEXT_WEIGHT * other for score, other in zip(scores, self._scores(background), strict=True)
            ]
        best = sorted(range(len(scores)), key=lambda number: -scores[number])[:limit]
        highest = max(scores, default=0.0)
        total = sum(math.exp(score - highest) for score in scores)
        return [
            Hit(self.cards[number].name, scores[number], math.exp(scores[number] - highest) / total) for number in best
        ]

    def _scores(self, text: str) -> list[float]:
        text = text[:LONGEST_REQUEST]
        scores = self._linear.scores(self.space.vector(features(text)))
        for hit in self._index.search(text, len(self.cards)):
            scores[int(hit.key)] += WORD_WEIGHT * hit.score
        return scores
