"""A softmax regression over texts: the mean of each class and a constant, corrected by gradient steps.

A text is a sparse vector: its stems, pairs of neighbouring stems, and letter n-grams within words.
"""

import math
import random
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, chain, pairwise, repeat
from operator import add, mul

from agents.language.text.stems import stems, words
from prompts import FALLBACK

Vector = dict[str, float]
NGRAMS = (2, 3)
STEM_WEIGHT = 2.0  # The weight of a word, where a piece of a word has 1.
CONSTANT = 0.3
"""The value of a feature of every vector. By it a class of very different examples can win a text without a class."""
SHARPNESS = 5.0  # The factor of the means before the first step.
STEP = 2.0
NEAR, FAR = 10, 10
"""Numbers of classes to compare with the right one: those with the most similar means, and random others."""
TELLING = 15  # A feature of more classes than this is not used to find the near ones.
EPOCHS = 2
VISITS = 4_000
"""Examples for training, in all epochs. If there are more, only a part of them corrects the means."""
NEGLIGIBLE = 0.01  # A class that an example moves by less is not changed.
_NOUGHT = repeat(0.0)
Weights = dict[str, dict[int, float]]


def features(text: str) -> Counter[str]:
    """Count the features of a text; stems begin with "=", so that nobody takes one for an n-gram."""
    counts: Counter[str] = Counter()
    for word in words(text):
        counts.update(_pieces(word))
    # Latin letters are stemmed as English and Cyrillic ones as Russian, whatever the language of the text.
    row = stems(text, FALLBACK)
    counts.update(f"={stem}" for stem in row)
    counts.update(f"={first} {second}" for first, second in zip(["", *row], [*row, ""], strict=True) if row)
    return counts


# Examples repeat the same words. With this cache their pieces are the same objects, which a dict finds sooner.
@lru_cache(maxsize=5_000)
def _pieces(word: str) -> tuple[str, ...]:
    framed = f" {word} "
    return tuple(framed[place : place + size] for size in NGRAMS for place in range(len(framed) - size + 1))


class Space:
    """Weighs features by their rarity among some texts."""

    def __init__(self, texts: Iterable[Counter[str]]) -> None:
        names = [text.keys() for text in texts]
        total, frequency = len(names), Counter(chain.from_iterable(names))
        self.rarity = {name: math.log((1 + total) / (1 + count)) + 1 for name, count in frequency.items()}
        self.unseen = math.log(1 + total) + 1

    def vector(self, text: Counter[str]) -> Vector:
        """Return a vector of length one, without the parts that no text has."""
        weights = {name: self._weight(name, count) for name, count in text.items()}
        length = math.sqrt(sum(weight * weight for weight in weights.values()))
        return {name: weight / length for name, weight in weights.items() if name in self.rarity}

    def _weight(self, name: str, count: int) -> float:
        weight = (1 + math.log(count)) * self.rarity.get(name, self.unseen)
        return weight * STEM_WEIGHT if name[0] == "=" and " " not in name else weight


class Linear:
    """Scores classes, numbered from zero, in log-odds; the same examples always make the same model.

    A step over all classes would be the exact gradient, and slow. The near ones and a few of the far ones, each of
    which stands for many, estimate it (sampled softmax: Bengio and Senécal, "Adaptive importance sampling", 2008).
    """

    def __init__(self, classes: int, examples: Sequence[tuple[Vector, int]]) -> None:
        means = _by_feature(_means(classes, examples))
        telling = {name: row for name, row in means.items() if len(row) <= TELLING}
        # The weights of a feature lie together: an example has few features, and is compared with few classes.
        weights: Weights = {"": {}}
        for name, row in means.items():
            weights[name] = {number: mean * SHARPNESS for number, mean in row.items()}
        chance = random.Random(len(examples))
        order = list(range(len(examples)))
        nearest: dict[int, list[int]] = {}
        for _ in range(EPOCHS):
            chance.shuffle(order)
            for place in order[: VISITS // EPOCHS]:
                vector, right = examples[place]
                if place not in nearest:
                    nearest[place] = _nearest(telling, vector, right)
                near = [right, *nearest[place]]
                others = [number for number in range(classes) if number not in near]
                far = chance.sample(others, min(FAR, len(others)))
                _learn(weights, vector, near, far, math.log(len(others) / len(far)) if far else 0.0)

        rows = weights.values()
        values = array("f", chain.from_iterable(row.values() for row in rows))
        self.set(classes, [*weights], [*map(len, rows)], array("H", chain.from_iterable(rows)), values)

    def set(
        self, classes: int, names: Sequence[str], lengths: Sequence[int], numbers: "array[int]", weights: "array[float]"
    ) -> None:
        """Set trained values: the features' names and, a row for each, classes with their weights, in one array."""
        self.classes, self.names, self.lengths, self.numbers, self.weights = classes, names, lengths, numbers, weights
        ends = pairwise(accumulate(lengths, initial=0))
        self._rows = {name: slice(*row) for name, row in zip(names, ends, strict=True)}

    def scores(self, vector: Vector) -> list[float]:
        """Return the log-odds of each class, up to a constant: above zero for a text like an example of the class."""
        sums = [0.0] * self.classes
        for name, value in (*vector.items(), ("", CONSTANT)):
            if row := self._rows.get(name):
                for number, weight in zip(self.numbers[row], self.weights[row], strict=True):
                    sums[number] += value * weight
        return sums


def _learn(weights: Weights, vector: Vector, near: Sequence[int], far: Sequence[int], many: float) -> None:
    """Take a gradient step for the first of the near classes; each far one stands for exp(`many`) classes."""
    # Training spends nearly all its time here: chains of maps run without an interpreter step for each feature.
    values, numbers = (*vector.values(), CONSTANT), (*near, *far)
    rows = [weights[name] for name in (*vector, "")]
    columns = [*zip(*(map(row.get, numbers, _NOUGHT) for row in rows), strict=True)]
    odds = [sum(map(mul, values, column)) for column in columns]
    odds[len(near) :] = [value + many for value in odds[len(near) :]]
    highest = max(odds)
    shares = [math.exp(value - highest) for value in odds]
    total = sum(shares)
    gaps = [(place == 0) - share / total for place, share in enumerate(shares)]
    moving = [place for place, gap in enumerate(gaps) if abs(gap) >= NEGLIGIBLE]
    moved = [map(add, columns[place], map(mul, values, repeat(STEP * gaps[place]))) for place in moving]
    for row, changed in zip(rows, zip(*moved, strict=True), strict=False):
        row.update(zip([numbers[place] for place in moving], changed, strict=True))


def _means(classes: int, examples: Sequence[tuple[Vector, int]]) -> list[Vector]:
    rows: list[Vector] = [{} for _ in range(classes)]
    for vector, number in examples:
        row = rows[number]
        for name, value in vector.items():
            row[name] = row.get(name, 0.0) + value
    for row in rows:
        length = math.sqrt(sum(value * value for value in row.values()))
        row.update({name: value / length for name, value in row.items()})
    return rows


def _by_feature(rows: Sequence[Vector]) -> Weights:
    weights: defaultdict[str, dict[int, float]] = defaultdict(dict)
    for number, row in enumerate(rows):
        for name, weight in row.items():
            weights[name][number] = weight
    return dict(weights)


def _nearest(telling: Mapping[str, Mapping[int, float]], vector: Vector, right: int) -> list[int]:
    """Return the other classes that have most in common with an example."""
    sums: defaultdict[int, float] = defaultdict(float)
    for name, value in vector.items():
        for number, weight in telling.get(name, {}).items():
            sums[number] += value * weight
    sums.pop(right, None)
    return sorted(sums, key=lambda number: -sums[number])[:NEAR]
