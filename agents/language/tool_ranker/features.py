"""A text as weighted features: stems, pairs of neighbouring stems, and letter n-grams within words."""

import math
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

from agents.language.text.stems import stems, words

Vector = dict[str, float]
NGRAMS = (2, 3)
STEM_WEIGHT = 2.0
"""The weight of a word, where a piece of a word has 1."""


def features(text: str) -> Counter[str]:
    """Count the features of a text; stems begin with "=", so that none is taken for an n-gram."""
    counts: Counter[str] = Counter()
    for word in words(text):
        counts.update(_pieces(word))
    # Latin letters are stemmed as English and Cyrillic ones as Russian, whatever the language of the text.
    row = stems(text, "en")
    counts.update(f"={stem}" for stem in row)
    counts.update(f"={first} {second}" for first, second in zip(["", *row], [*row, ""], strict=True) if row)
    return counts


# The same words come again and again in examples; their pieces are then also the same objects, found sooner.
@lru_cache(maxsize=5_000)
def _pieces(word: str) -> tuple[str, ...]:
    framed = f" {word} "
    return tuple(framed[place : place + size] for size in NGRAMS for place in range(len(framed) - size + 1))


class Space:
    """Weighs features by how rare they are among some texts."""

    def __init__(self, texts: Iterable[Counter[str]]) -> None:
        frequency: Counter[str] = Counter()
        total = 0
        for text in texts:
            frequency.update(text.keys())
            total += 1
        self._rarity = {name: math.log((1 + total) / (1 + count)) + 1 for name, count in frequency.items()}
        self._unseen = math.log(1 + total) + 1

    def vector(self, text: Counter[str]) -> Vector:
        """Return a vector of length one, without those parts that none of the texts has."""
        weights = {name: self._weight(name, count) for name, count in text.items()}
        length = math.sqrt(sum(weight * weight for weight in weights.values()))
        return {name: weight / length for name, weight in weights.items() if name in self._rarity}

    def _weight(self, name: str, count: int) -> float:
        weight = (1 + math.log(count)) * self._rarity.get(name, self._unseen)
        return weight * STEM_WEIGHT if name[0] == "=" and " " not in name else weight
