"""Train the gate on the train parts of STAR and MASSIVE, and write its weights.

`python -m benchmarks.gate_training --data DIR`: DIR holds `star_switch` and `massive_switch`. SGD is under a
share-alike licence, so no weights come from it; `benchmarks.switch` measures on it. The same data always makes the
same weights.

The thresholds come from cross-validation on the train parts, dialogs kept together: `low` is the highest score that
a share of RECALL of the switches reach; of the turns from `high` on, a share of SURE leave.
"""

import json
import math
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agents.conversation.gate import FILE
from agents.conversation.gate.features import Features, features
from benchmarks.report import Row as Line
from benchmarks.report import arguments, show_table
from benchmarks.switch_data import Row, rows

SETS = ("star_switch", "massive_switch")
SEED = 11
EPOCHS = 8
STEP = 0.15
SHRINK = 10.0
"""The weight of the squared weights beside the sum of the examples' losses."""
LEAVING = 3.0
"""What a missed switch counts for beside a needless question to the observers."""
DIALOGS = 4
"""A word must occur with so many different services to get a weight: else it tells of their subject only."""
FOLDS = 5
RECALL = 0.98
SURE = 0.85
SPREAD = 1.0
"""The least distance between the thresholds."""
LEAST = 0.04
"""Weights nearer to zero than this are left out of the file."""
WORDS = ("w=", "wN=", "wQ=", "wE=", "b=", "r=")


@dataclass(frozen=True)
class Example:
    """A turn to learn from."""

    row: Row
    seen: Features


@dataclass(frozen=True)
class Model:
    """A constant and a weight for each feature."""

    constant: float
    weights: dict[str, float]

    def score(self, seen: Features) -> float:
        """Return the log-odds that the message leaves."""
        return self.constant + sum(self.weights.get(name, 0.0) * value for name, value in seen.items())


def examples(data: Path) -> list[Example]:
    """Return the train parts, with the features that are general enough to learn."""
    taken = [Example(row, features(row.scene)) for name in SETS for row in rows(data, name, "train")]
    with_word: defaultdict[str, set[str]] = defaultdict(set)
    for example in taken:
        for name in example.seen:
            with_word[name].add(example.row.scene.dialog)
    rare = {name for name, dialogs in with_word.items() if name.startswith(WORDS) and len(dialogs) < DIALOGS}
    return [
        # Sorted, since the order of a set of texts is another one in each process, and sums depend on it.
        Example(example.row, {name: value for name, value in sorted(example.seen.items()) if name not in rare})
        for example in taken
    ]


def train(taken: Sequence[Example]) -> Model:
    """Fit a logistic regression by AdaGrad."""
    weights: defaultdict[str, float] = defaultdict(float)
    squares: defaultdict[str, float] = defaultdict(lambda: 1e-6)
    counts: defaultdict[str, int] = defaultdict(int)
    for example in taken:
        for name in example.seen:
            counts[name] += 1
    order, chance = list(taken), random.Random(SEED)
    for _ in range(EPOCHS):
        chance.shuffle(order)
        for example in order:
            _learn(example, weights, squares, counts)
    constant = weights.pop("", 0.0)
    return Model(constant, dict(weights))


def _learn(
    example: Example,
    weights: defaultdict[str, float],
    squares: defaultdict[str, float],
    counts: defaultdict[str, int],
) -> None:
    score = weights[""] + sum(weights[name] * value for name, value in example.seen.items())
    share = 1 / (1 + math.exp(-max(-30.0, min(30.0, score))))
    error = (share - example.row.leaves) * (LEAVING if example.row.leaves else 1.0)
    for name, value in (*example.seen.items(), ("", 1.0)):
        # Each example that has the feature pays its part of the shrinking.
        slope = error * value + (SHRINK * weights[name] / counts[name] if name else 0.0)
        squares[name] += slope * slope
        weights[name] -= STEP * slope / math.sqrt(squares[name])


def cross_validated(taken: Sequence[Example]) -> list[float]:
    """Return the score of each example by a model that has not seen its dialog."""
    dialogs = sorted({(example.row.set, example.row.dialog) for example in taken})
    random.Random(SEED).shuffle(dialogs)
    fold_of = {dialog: number % FOLDS for number, dialog in enumerate(dialogs)}
    folds = [fold_of[example.row.set, example.row.dialog] for example in taken]
    models = [
        train([example for example, own in zip(taken, folds, strict=True) if own != fold]) for fold in range(FOLDS)
    ]
    return [models[fold].score(example.seen) for example, fold in zip(taken, folds, strict=True)]


def lowest(scores: Sequence[float], recall: float) -> float:
    """Return the highest threshold that so many of these scores reach."""
    ranked = sorted(scores)
    return ranked[int((1 - recall) * len(ranked))]


def highest(pairs: Sequence[tuple[float, bool]], precision: float) -> float:
    """Return the lowest threshold from which such a share of the turns leave."""
    ranked, leaving, best = sorted(pairs, reverse=True), 0, math.inf
    for number, (score, leaves) in enumerate(ranked, 1):
        leaving += leaves
        if leaving >= precision * number:
            best = score
    return best


def main() -> None:
    """Train, say what cross-validation shows, and write the weights."""
    parser = arguments(__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=FILE, help="the file to write")
    chosen = parser.parse_args()
    taken = examples(chosen.data)
    scores = cross_validated(taken)
    groups: defaultdict[tuple[str, str], list[tuple[float, bool]]] = defaultdict(list)
    for example, score in zip(taken, scores, strict=True):
        groups[example.row.set, example.row.scene.lang].append((score, example.row.leaves))
    pairs = [(score, example.row.leaves) for example, score in zip(taken, scores, strict=True)]
    low, high = lowest([score for score, leaves in pairs if leaves], RECALL), highest(pairs, SURE)
    high = max(high, low + SPREAD)
    model = train(taken)
    weights = {name: round(weight, 3) for name, weight in sorted(model.weights.items()) if abs(weight) >= LEAST}
    stored = {"constant": round(model.constant, 3), "low": round(low, 3), "high": round(high, 3), "weights": weights}
    text = json.dumps(stored, ensure_ascii=False, indent=0) + "\n"
    chosen.out.write_text(text, "utf-8")
    table = [_line(*key, pairs, low) for key, pairs in groups.items()]
    if chosen.json:
        print(json.dumps({"rows": table, "low": low, "high": high, "weights": len(weights)}))
        return
    show_table(table)
    print(f"\nlow {low:.2f}, high {high:.2f}, {len(weights):,} weights, {len(text.encode()):,} bytes: {chosen.out}")


def _line(set: str, lang: str, pairs: Sequence[tuple[float, bool]], low: float) -> Line:
    leaving = [score for score, leaves in pairs if leaves]
    return {
        "cross-validated": set,
        "lang": lang,
        "turns": len(pairs),
        "switches": len(leaving),
        "free": sum(score < low for score, _ in pairs) / len(pairs),
        "recall": sum(score >= low for score in leaving) / len(leaving),
        "low for the recall": lowest(leaving, RECALL),
    }


if __name__ == "__main__":
    main()
