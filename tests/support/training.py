"""Trains the ranker of the same tools once in a test run: the same examples always make the same model."""

import hashlib
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path

from agents.language.tool_ranker.linear_model import Linear, Vector
from agents.language.tool_ranker.ranker import Card, ToolRanker


def trained_once(folder: Path) -> Callable[[int, Sequence[tuple[Vector, int]]], Linear]:
    """Return a replacement for `Linear` that keeps models in a folder of all processes."""
    folder.mkdir(exist_ok=True)

    def linear(classes: int, examples: Sequence[tuple[Vector, int]]) -> Linear:
        file = folder / hashlib.sha256(repr((classes, examples)).encode()).hexdigest()
        if not file.exists():
            trained = file.with_suffix(f".{id(examples)}")
            trained.write_bytes(pickle.dumps(Linear(classes, examples)))
            trained.replace(file)
        model: Linear = pickle.loads(file.read_bytes())
        return model

    return linear


def made_once() -> Callable[[Sequence[Card]], ToolRanker]:
    """Return a replacement for `ToolRanker` that makes the ranker of the same cards once in this process."""
    rankers: dict[str, ToolRanker] = {}

    def ranker(cards: Sequence[Card]) -> ToolRanker:
        written = repr(cards)
        if written not in rankers:
            rankers[written] = ToolRanker(cards)
        return rankers[written]

    return ranker
