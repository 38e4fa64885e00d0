"""A linear model over sparse vectors: the mean of each class and a constant, corrected where they err."""

import math
import random
from collections.abc import Sequence

from agents.retrievers.features import Vector

CONSTANT = 0.3
"""A feature that every vector has: by it a class of very different examples can win what fits nowhere else."""
MARGIN = 0.3
"""By how much the right class has to lead."""
RIVALS = 10
"""How many classes one step corrects at most."""
EPOCHS = 3
VISITS = 5_400
"""Examples looked at while training, in all epochs; of more examples, a part corrects the means of all."""

Weights = dict[str, dict[int, float]]


class Linear:
    """Scores classes, numbered from zero; the same examples always make the same model."""

    def __init__(self, classes: int, examples: Sequence[tuple[Vector, int]]) -> None:
        self._weights = _means(classes, examples)
        self._weights[""] = dict.fromkeys(range(classes), 0.0)
        shuffle = random.Random(len(examples)).shuffle
        order = list(range(len(examples)))
        for _ in range(EPOCHS):
            shuffle(order)
            for place in order[: VISITS // EPOCHS]:
                self._learn(*examples[place])

    def scores(self, vector: Vector) -> list[float]:
        """Return how well each class fits: about one for an example of it, about zero for what is like none."""
        sums = [0.0] * len(self._weights[""])
        for name, value in (*vector.items(), ("", CONSTANT)):
            for number, weight in self._weights.get(name, {}).items():
                sums[number] += value * weight
        return sums

    def _learn(self, vector: Vector, right: int) -> None:
        """Take a passive-aggressive step, shared among the classes that come too close to the right one."""
        sums = self.scores(vector)
        bar = sums[right] - MARGIN
        close = sorted(((score - bar, number) for number, score in enumerate(sums) if score > bar), reverse=True)
        rivals = [(excess, number) for excess, number in close if number != right][:RIVALS]
        if not rivals:
            return
        step, total = rivals[0][0] / 2, sum(excess for excess, _ in rivals)
        steps = [(right, step), *((number, -step * excess / total) for excess, number in rivals)]
        for name, value in (*vector.items(), ("", CONSTANT)):
            row = self._weights[name]
            for number, size in steps:
                row[number] = row.get(number, 0.0) + size * value


def _means(classes: int, examples: Sequence[tuple[Vector, int]]) -> Weights:
    """Return by feature and class the mean of the class's examples, brought to length one."""
    sums: list[Vector] = [{} for _ in range(classes)]
    for vector, number in examples:
        own = sums[number]
        for name, value in vector.items():
            own[name] = own.get(name, 0.0) + value
    weights: Weights = {}
    for number, own in enumerate(sums):
        length = math.sqrt(sum(value * value for value in own.values()))
        for name, value in own.items():
            weights.setdefault(name, {})[number] = value / length
    return weights
