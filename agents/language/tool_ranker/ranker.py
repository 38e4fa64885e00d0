"""Rank tools by a request: full-text search and a linear model over the same cards, their scores added.

`Shortcuts` finds the frequent simple requests that need no model: an example says the same, or the ranker is sure.
"""

import math
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial

from agents.language.text.fulltext import Index, IndexEntry
from agents.language.text.stems import spelt, stem, stems, words
from agents.language.tool_ranker.linear_model import Linear, Space, Vector, features
from prompts import FALLBACK, languages, table

_SLOT = re.compile(r"\{\w+\}")
_BREAK = re.compile(r"(?:[.,!?;:…—–]+\s+|[，。！？；：、]\s*)\S")
WORD_WEIGHT = 0.1  # The weight of a point of BM25, in log-odds of the linear model.
CONTEXT_WEIGHT = 0.35  # The weight of the context, where the request has 1.
LONGEST_REQUEST = 2_000  # Characters of a request, and of its context, to look at.
Words = tuple[str, ...]
Reading = tuple[Words, Words]
"""The words of a phrase, and their stems."""
SURE = 0.9  # The least share of the best tool among all tools.
MOST_IN_SLOT = 5  # The most words with a meaning in a slot; more of them may be another wish.
CLOSENESS = 0.45  # The least similarity of the request to an example of the tool, from 0 to 1.


@dataclass(frozen=True)
class Card:
    """A tool's name and, by language, its description and examples of requests for it."""

    name: str
    descriptions: Mapping[str, str] = field(default_factory=dict)
    examples: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Phrases; a `{slot}` stands for any words."""
    parameters: Sequence[str] = ()
    shortcut: bool = False
    """Whether it may be called without a model: it needs no arguments, and a wrong call does no harm."""

    def texts(self) -> Iterator[str]:
        """Yield all texts to search: examples without their slots, descriptions, names."""
        for phrases in self.examples.values():
            yield from (_SLOT.sub(" ", phrase) for phrase in phrases)
        yield from self.descriptions.values()
        yield " ".join([self.name, *self.parameters]).replace("_", " ")

    def framed_phrases(self) -> Iterator[str]:
        """Yield the examples with one open slot and words beside it."""
        every = (phrase for phrases in self.examples.values() for phrase in phrases)
        yield from (phrase for phrase in every if len(_SLOT.findall(phrase)) == 1 and _SLOT.sub("", phrase).strip())

    def whole_phrases(self) -> Iterator[str]:
        """Yield the examples without an open slot."""
        for phrases in self.examples.values():
            yield from (phrase for phrase in phrases if not _SLOT.search(phrase))


@dataclass(frozen=True)
class Hit:
    """A tool and its score for the request. If the best tools have low scores, none fits."""

    name: str
    score: float
    share: float  # The likelihood, from 0 to 1, that the request is for this tool, if it is for any.


class ToolRanker:
    """Knows some tools by their cards; trained when it is made, in a second or two for some thousand examples.

    With a `model`, which was trained with the same cards, nothing is trained.
    """

    def __init__(self, cards: Sequence[Card], model: tuple[Space, Linear] | None = None) -> None:
        self.cards = tuple(cards)
        entries = (IndexEntry(str(number), "", " ".join(card.texts())) for number, card in enumerate(cards))
        self._index = Index(entries, FALLBACK)
        if model:
            self.space, self.linear = model
            return
        texts = [(text, number) for number, card in enumerate(cards) for text in card.texts()]
        counted = [(features(text), number) for text, number in texts]
        self.space = Space(counts for counts, _ in counted)
        self.linear = Linear(len(cards), [(self.space.vector(counts), number) for counts, number in counted])

    def rank(self, query: str, limit: int, context: Iterable[str] = ()) -> list[Hit]:
        """Return the best tools for a request, best first.

        `context` has the latest texts, newest first: it decides where the request alone says little.
        """
        scores = self._scores(query)
        if background := " ".join(context):
            others = self._scores(background)
            scores = [score + CONTEXT_WEIGHT * other for score, other in zip(scores, others, strict=True)]
        best = sorted(range(len(scores)), key=lambda place: -scores[place])[:limit]
        highest = max(scores, default=0.0)
        total = sum(math.exp(score - highest) for score in scores)
        return [Hit(self.cards[place].name, scores[place], math.exp(scores[place] - highest) / total) for place in best]

    def _scores(self, text: str) -> list[float]:
        text = text[:LONGEST_REQUEST]
        scores = self.linear.scores(self.space.vector(features(text)))
        for hit in self._index.search(text, len(self.cards)):
            scores[int(hit.key)] += WORD_WEIGHT * hit.score
        return scores


def ranker_of(cards: Sequence[Card]) -> ToolRanker:
    """Return the ranker of these cards."""
    return make_ranker(cards)


make_ranker: Callable[[Sequence[Card]], ToolRanker] = ToolRanker
"""Makes rankers; an application may keep trained models."""


def read_phrases(phrases: Collection[str]) -> Mapping[str, Reading]:
    """Return the words of each phrase, and their stems."""
    return {phrase: (row := tuple(words(phrase)), tuple(stem(word, FALLBACK) for word in row)) for phrase in phrases}


reader: Callable[[Collection[str]], Mapping[str, Reading]] = read_phrases
"""Reads the phrases of cards; an application may keep the readings."""


class Shortcuts:
    """Finds requests that go straight to a tool; all tools compete, and those marked `shortcut` may win.

    A request is for a tool when it says the same as an example of this tool alone, fillers aside. It is also for the
    tool when it resembles an example, has no word that the tool's examples lack ("don't stop it" and "stop it at nine"
    are not "stop it"), and the ranker finds no other tool likely.
    """

    def __init__(self, cards: Sequence[Card], ranker: ToolRanker | None = None) -> None:
        self.cards = tuple(cards)
        self._trained = ranker
        listed = {name: _listed(name) for name in ("fillers", "sayings")}
        phrases = [(phrase, card) for card in cards for phrase in (*card.whole_phrases(), *card.framed_phrases())]
        read = reader({phrase for phrase, _ in phrases}.union(*listed.values()))
        self._fillers = frozenset().union(*(read[phrase][1] for phrase in listed["fillers"]))
        self._sayings = tuple({_line(read[phrase][1]) for phrase in listed["sayings"]})
        self._marked = [card for card in cards if card.shortcut]
        self._stems_of = {
            card.name: self._fillers.union(*(read[phrase][1] for phrase in card.whole_phrases()))
            for card in self._marked
        }
        self._askers: defaultdict[Words, set[str]] = defaultdict(set)
        for card in cards:
            for phrase in card.whole_phrases():
                self._askers[self._telling(read[phrase][1])].add(card.name)
        spoken = frozenset(word for phrase, _ in phrases for word in read[phrase][0])
        self._spelt = lru_cache(maxsize=100)(partial(spelt, lexicon=spoken))  # A turn asks twice.
        framed = [(phrase, card.name) for phrase, card in phrases if card.shortcut and _SLOT.search(phrase)]
        # "My {when}" has no word with a meaning beside its slot: it would fit every request.
        self._frames = [
            (self._frame(*_SLOT.split(phrase)), name) for phrase, name in framed if self._words(_SLOT.sub(" ", phrase))
        ]

    def by_any_example(self, request: str) -> str | None:
        """Return the only tool, marked or not, with an example of the same words; at once."""
        words = self._words(request)
        asking = self._askers.get(words, set()) if words else set()
        return next(iter(asking)) if len(asking) == 1 else None

    def by_slip(self, request: str) -> str | None:
        """Return the only tool with an example of the same words, but for a slip of typing; at once."""
        return self.by_any_example(self._spelt(request))

    def leading(self, request: str, apart: Collection[str] = ()) -> str | None:
        """Return the only tool with an example whose slot a few plain words of the request fill; at once.

        None of these words may be among the stems `apart`. A saying ("play it cool") leads nowhere.
        """
        # "Play Cool Runnings" is not a saying: here fillers count.
        if _line(tuple(stems(request, FALLBACK))).startswith(self._sayings) or _BREAK.search(request):
            return None
        line = _line(self._words(self._spelt(request)))
        filled = ((name, _slot(line, *frame)) for frame, name in self._frames)
        leading = {name for name, slot in filled if 0 < len(slot) <= MOST_IN_SLOT and set(slot).isdisjoint(apart)}
        return leading.pop() if len(leading) == 1 else None

    def may_be_meant(self, request: str) -> bool:
        """Tell whether `meant` could find a tool, at once."""
        words = self._words(request)
        return bool(words) and any(stems.issuperset(words) for stems in self._stems_of.values())

    def meant(self, request: str) -> str | None:
        """Return the tool that is far likelier than all others and has a similar example; the first call is slow."""
        [best] = self._ranker.rank(request, 1)
        if best.share < SURE or not self._stems_of.get(best.name, set()).issuperset(self._words(request)):
            return None
        vector = self._vector(request)
        is_close = any(_product(vector, example) >= CLOSENESS for example in self._examples[best.name])
        return best.name if is_close else None

    @cached_property
    def _ranker(self) -> ToolRanker:
        return self._trained or ranker_of(self.cards)

    @cached_property
    def _examples(self) -> dict[str, list[Vector]]:
        return {card.name: [self._vector(phrase) for phrase in card.whole_phrases()] for card in self._marked}

    def _frame(self, before: str, after: str) -> tuple[str, str]:
        return _line(self._words(before)), _line(self._words(after))

    def _words(self, text: str) -> Words:
        return self._telling(stems(text, FALLBACK))

    def _telling(self, row: Iterable[str]) -> Words:
        return tuple(word for word in row if word not in self._fillers)

    def _vector(self, text: str) -> Vector:
        return self._ranker.space.vector(features(text))


def _listed(name: str) -> set[str]:
    return {phrase for lang in languages() for phrase in table("words", lang)[name]}


def _slot(line: str, start: str, end: str) -> list[str]:
    """Return the words of a line between a start and an end; none if it does not begin and end so."""
    is_framed = line.startswith(start) and line.endswith(end) and len(line) >= len(start) + len(end)
    return line[len(start) : len(line) - len(end)].split() if is_framed else []


def _line(row: Words) -> str:
    return "".join(f"{word} " for word in row)


def _product(vector: Vector, other: Vector) -> float:
    return sum(value * other.get(name, 0.0) for name, value in vector.items())
