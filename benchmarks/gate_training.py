"""Train the gate on the train parts of STAR and MASSIVE, and write its weights.

`python -m benchmarks.gate_training --data DIR`: DIR holds `star_switch` and `massive_switch`. SGD is under a
share-alike licence, so no weights come from it; `benchmarks.switch` measures on it. The same data always makes the
same weights.

The thresholds come from cross-validation on the train parts, dialogs kept together: at `low` a share of RECALL of the
switches of each set and language is noticed; of the turns from `high` on, a share of SURE leave. Cross-validated turns
are played through the free rules and the observers' own tests, as `benchmarks.switch` does it. `--curve` writes
nothing: it shows for some recalls the threshold that each set and language would have alone, and the free turns.
"""

import json
import math
import random
import statistics
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul
from pathlib import Path

from agents.conversation.gate import FILE, HIGH, LOW, Guess, Thresholds, trained_gate
from agents.conversation.gate.features import Features, features
from agents.conversation.scene import Scene
from agents.nodes.route import Watchers
from benchmarks.report import Row as Line
from benchmarks.report import arguments, show, show_table
from benchmarks.switch import Decision, decide, summed, watching
from benchmarks.switch_data import Row, rows

SETS = ("star_switch", "massive_switch")
UNSEEN = "sgd_switch"
"""The set without a part in the training; `--curve` shows its dev part."""
SEED = 11
LOSS = 0.1
"""The weight of an example's loss; the other summand is half the sum of the squared weights."""
MISSED = {"star_switch": 6.0, "massive_switch": 1.5}
"""The weight of a missed switch; a needless call of the observers weighs 1. Real conversations weigh more."""
SETTLED = 0.001
"""The training ends after a round that changes no example's part by more than this share."""
NEWTON = 0.0001
TURNS = 3
"""The number of turns in which a feature must occur to get a weight."""
DIALOGS = 4
"""The number of services with which a word must occur to get a weight: else it only tells their subject."""
FOLDS = 10
RECALL = 0.98
RECALLS = (0.97, RECALL, 0.985, 0.99)
SURE = 0.85
SPREAD = 1.0
"""The least distance between the thresholds."""
LEAST = 0.04
"""The least absolute value of a weight in the file."""
WORDS = ("w=", "wN=", "wQ=", "wE=", "b=", "r=")
EASE = dict.fromkeys(WORDS[:5], 0.7)
"""The ease of weights for groups of features, 1.0 for all others: single words generalise least."""
RULES = trained_gate(Thresholds(low=1e9, high=2e9))
"""The gate with its rules alone, without its score."""


@dataclass(frozen=True)
class Example:
    """A turn of the training data."""

    row: Row
    seen: Features

    @property
    def loss(self) -> float:
        """Return the loss of a wrong guess."""
        return LOSS * (MISSED[self.row.set] if self.row.leaves else 1.0)


@dataclass(frozen=True)
class Model:
    """A constant and a weight for each feature."""

    constant: float
    weights: dict[str, float]

    def score(self, seen: Features) -> float:
        """Return the log-odds that the message leaves."""
        return self.constant + sum(self.weights.get(name, 0.0) * value for name, value in seen.items())


def examples(data: Path) -> list[Example]:
    """Return the train parts, with those features that are general enough."""
    taken = [Example(row, features(row.scene)) for name in SETS for row in rows(data, name, "train")]
    turns = Counter(name for example in taken for name in example.seen)
    with_word: defaultdict[str, set[str]] = defaultdict(set)
    for example in taken:
        for name in example.seen:
            with_word[name].add(example.row.scene.dialog)
    rare = {name for name, dialogs in with_word.items() if name.startswith(WORDS) and len(dialogs) < DIALOGS}
    rare |= {name for name, count in turns.items() if count < TURNS}
    return [
        # Sorted: the order of a set of texts differs between processes, and sums depend on it.
        Example(example.row, {name: value for name, value in sorted(example.seen.items()) if name not in rare})
        for example in taken
    ]


def train(taken: Sequence[Example]) -> Model:
    """Fit a logistic regression by dual coordinate descent (Yu, Huang and Lin, 2011).

    The weights are a sum of the examples, each times its part: a number between 0 and its loss.
    """
    numbers = {"": 0}
    for example in taken:
        for name in example.seen:
            numbers.setdefault(name, len(numbers))
    weights, parts = [0.0] * len(numbers), [0.0] * len(taken)
    ease = {name: EASE.get(name[: name.find("=") + 1], 1.0) for name in numbers}
    # Each example as numbers of features and their values; the constant is a feature of all.
    columns = [
        ([0, *map(numbers.__getitem__, seen)], [1.0, *(value * ease[name] for name, value in seen.items())])
        for seen in (example.seen for example in taken)
    ]
    sizes = [sum(value * value for value in values) for _, values in columns]
    order, chance, change = list(range(len(taken))), random.Random(SEED), 1.0
    while change > SETTLED:
        change = 0.0
        chance.shuffle(order)
        for place in order:
            example, (features_of, values) = taken[place], columns[place]
            sign = 1 if example.row.leaves else -1
            margin = sign * sum(map(mul, map(weights.__getitem__, features_of), values))
            part = _part(example.loss, sizes[place], margin - sizes[place] * parts[place])
            step, parts[place] = part - parts[place], part
            change = max(change, abs(step) / example.loss)
            for number, value in zip(features_of, values, strict=True):
                weights[number] += sign * step * value
    return Model(weights[0], {name: weights[number] * ease[name] for name, number in numbers.items() if name})


def _part(loss: float, size: float, rest: float) -> float:
    """Return the best part of an example, where `rest` is its margin without it."""
    # Newton's method for the log-odds of the part's share of the loss. From zero it never steps over the root.
    odds, step = 0.0, 1.0
    while abs(step) > NEWTON:
        share = 1 / (1 + math.exp(-odds))
        step = (odds + size * loss * share + rest) / (1 + size * loss * share * (1 - share))
        odds -= step
    return loss / (1 + math.exp(-odds))


def cross_validated(taken: Sequence[Example]) -> list[float]:
    """Return the score of each example, from a model trained without its dialog."""
    dialogs = sorted({(example.row.set, example.row.dialog) for example in taken})
    random.Random(SEED).shuffle(dialogs)
    fold_of = {dialog: number % FOLDS for number, dialog in enumerate(dialogs)}
    folds = [fold_of[example.row.set, example.row.dialog] for example in taken]
    models = [
        train([example for example, own in zip(taken, folds, strict=True) if own != fold]) for fold in range(FOLDS)
    ]
    return [models[fold].score(example.seen) for example, fold in zip(taken, folds, strict=True)]


def played(row: Row, score: float, low: float, watchers: Watchers) -> Decision:
    """Return the decision about a turn with this score and this threshold."""

    def gate(scene: Scene) -> Guess:
        guess = RULES(scene)
        return guess if guess.leaves >= LOW or score < low else Guess(HIGH, "")

    return decide(gate, watchers, row)


def settled(row: Row, score: float, watchers: Watchers) -> float:
    """Return the score, or an infinite one if the rules decide the turn without it."""
    if played(row, score, math.inf, watchers).reaches:
        return math.inf
    return score if played(row, score, -math.inf, watchers).reaches else -math.inf


def lowest(scores: Sequence[float], recall: float) -> float:
    """Return the highest threshold that a share of `recall` of these scores reaches."""
    ranked = sorted(scores)
    return ranked[int((1 - recall) * len(ranked))]


def highest(pairs: Sequence[tuple[float, bool]], precision: float) -> float:
    """Return the lowest threshold above which a share of `precision` of the turns leave."""
    ranked, leaving, best = sorted(pairs, reverse=True), 0, math.inf
    for number, (score, leaves) in enumerate(ranked, 1):
        leaving += leaves
        if leaving >= precision * number:
            best = score
    return best


def curve(name: str, lang: str, group: Sequence[tuple[Row, float]], watchers: Watchers) -> list[Line]:
    """Return, for each of some recalls, the threshold of a set and language alone, and the decisions of its turns."""
    switches, cards = [settled(row, score, watchers) for row, score in group if row.leaves], _others(group)
    lines = list[Line]()
    for recall in RECALLS:
        low = lowest(switches, recall)
        made = summed(name, lang, [played(row, score, low, watchers) for row, score in group])
        lines.append(
            {**{key: made[key] for key in ("set", "lang", "recall", "free")}, "low": low, "other cards": cards}
        )
    return lines


def _others(group: Sequence[tuple[Row, float]]) -> float:
    return statistics.fmean(len(row.scene.helpers) for row, _ in group)


def main() -> None:
    """Train, print the results of the cross-validation, and write the weights."""
    parser = arguments(__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=FILE, help="the file to write")
    parser.add_argument("--curve", action="store_true", help="show what other thresholds would do")
    chosen = parser.parse_args()
    taken, watchers = examples(chosen.data), watching()
    groups: defaultdict[tuple[str, str], list[tuple[Row, float]]] = defaultdict(list)
    for example, score in zip(taken, cross_validated(taken), strict=True):
        groups[example.row.set, example.row.scene.lang].append((example.row, score))
    if chosen.curve:
        model = train(taken)
        for row in rows(chosen.data, UNSEEN, "dev"):
            groups[UNSEEN, row.scene.lang].append((row, model.score(features(row.scene))))
        lines = [line for (name, lang), group in groups.items() for line in curve(name, lang, group, watchers)]
        show(lines, as_json=chosen.json)
        return
    switches = [[settled(row, score, watchers) for row, score in group if row.leaves] for group in groups.values()]
    low = min(lowest(scores, RECALL) for scores in switches)
    high = highest([(score, row.leaves) for group in groups.values() for row, score in group], SURE)
    # Rounded down, so that the switch at the threshold stays above it.
    low, high = math.floor(low * 1000) / 1000, round(max(high, low + SPREAD), 3)
    model = train(taken)
    weights = {name: round(weight, 3) for name, weight in sorted(model.weights.items()) if abs(weight) >= LEAST}
    stored = {"constant": round(model.constant, 3), "low": low, "high": high, "weights": weights}
    text = json.dumps(stored, ensure_ascii=False, indent=0) + "\n"
    chosen.out.write_text(text, "utf-8")
    table = [
        summed(name, lang, [played(row, score, low, watchers) for row, score in group])
        for (name, lang), group in groups.items()
    ]
    if chosen.json:
        print(json.dumps({"rows": table, "low": low, "high": high, "weights": len(weights)}))
        return
    show_table(table)
    print(f"\nlow {low:.2f}, high {high:.2f}, {len(weights):,} weights, {len(text.encode()):,} bytes: {chosen.out}")


if __name__ == "__main__":
    main()
