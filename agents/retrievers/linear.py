"""A linear model over sparse vectors: the mean of each class and a constant, corrected where they err."""

import math
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import repeat
from operator import add, mul

from agents.retrievers.features import Vector

CONSTANT = 0.3
"""A feature that every vector has: by it a class of very different examples can win what fits nowhere else."""
MARGIN = 0.3
"""By how much the right class has to lead."""
RIVALS = 10
"""How many classes are held against the right one: those whose means are most like the example."""
TELLING = 15
"""A feature that more classes have says too little to find the rivals by."""
EPOCHS = 2
VISITS = 4_000
"""Examples looked at while training, in all epochs; of more examples, a part corrects the means of all."""

_NOUGHT = repeat(0.0)
Row = dict[str, float]
"""The weights of one class by feature."""


class Linear:
    """Scores classes, numbered from zero; the same examples always make the same model."""

    def __init__(self, classes: int, examples: Sequence[tuple[Vector, int]]) -> None:
        rows = _means(classes, examples)
        telling = {name: found for name, found in _by_feature(rows).items() if len(found) <= TELLING}
        shuffle = random.Random(len(examples)).shuffle
        order = list(range(len(examples)))
        rivals: dict[int, list[int]] = {}
        for _ in range(EPOCHS):
            shuffle(order)
            again: list[int] = []
            for place in order[: VISITS // EPOCHS]:
                vector, right = examples[place]
                if place not in rivals:
                    rivals[place] = _rivals(telling, vector, right)
                if _learn(rows, vector, right, rivals[place]):
                    again.append(place)
            # What was led clearly once seldom errs later.
            order = again
        self._classes = classes
        # A request asks for few features of all classes, a step of the training for all features of few classes.
        self._weights = _by_feature(rows)

    def scores(self, vector: Vector) -> list[float]:
        """Return how well each class fits: about one for an example of it, about zero for what is like none."""
        sums = [0.0] * self._classes
        for name, value in (*vector.items(), ("", CONSTANT)):
            for number, weight in self._weights.get(name, {}).items():
                sums[number] += value * weight
        return sums


def _learn(rows: Sequence[Row], vector: Vector, right: int, rivals: Sequence[int]) -> bool:
    """Take a passive-aggressive step, shared among the rivals that come too close to the right class."""
    # Training is nearly all spent here: chains of maps run without a step of the interpreter for each feature.
    names, values = (*vector, ""), (*vector.values(), CONSTANT)
    weights = {number: [*map(rows[number].get, names, _NOUGHT)] for number in (right, *rivals)}
    bar = sum(map(mul, values, weights[right])) - MARGIN
    scored = [(number, sum(map(mul, values, weights[number])) - bar) for number in rivals]
    close = [(number, excess) for number, excess in scored if excess > 0]
    if not close:
        return False
    step, total = max(excess for _, excess in close) / 2, sum(excess for _, excess in close)
    for number, size in [(right, step), *((number, -step * excess / total) for number, excess in close)]:
        rows[number].update(zip(names, map(add, weights[number], map(mul, values, repeat(size))), strict=False))
    return True


def _means(classes: int, examples: Sequence[tuple[Vector, int]]) -> list[Row]:
    """Return for each class the mean of its examples, brought to length one."""
    rows: list[Row] = [{} for _ in range(classes)]
    for vector, number in examples:
        row = rows[number]
        for name, value in vector.items():
            row[name] = row.get(name, 0.0) + value
    for row in rows:
        length = math.sqrt(sum(value * value for value in row.values()))
        row.update({name: value / length for name, value in row.items()})
    return rows


def _by_feature(rows: Sequence[Row]) -> dict[str, dict[int, float]]:
    """Return for each feature the classes that have it, and its weight in them."""
    found: defaultdict[str, dict[int, float]] = defaultdict(dict)
    for number, row in enumerate(rows):
        for name, weight in row.items():
            found[name][number] = weight
    return dict(found)


def _rivals(telling: Mapping[str, Mapping[int, float]], vector: Vector, right: int) -> list[int]:
    """Return the classes other than the right one that have most in common with an example."""
    sums: defaultdict[int, float] = defaultdict(float)
    for name, value in vector.items():
        for number, weight in telling.get(name, {}).items():
            sums[number] += value * weight
    sums.pop(right, None)
    return sorted(sums, key=lambda number: -sums[number])[:RIVALS]
