"""Trains the ranker of the same tools once in a test run: the same examples always make the same model."""

import hashlib
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from agents.language.tool_ranker.linear_model import Linear, Vector
from agents.language.tool_ranker.ranker import Card

T = TypeVar("T")


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


def made_once(kind: Callable[[Sequence[Card]], T]) -> Callable[[Sequence[Card]], T]:
    """Return a replacement for `ToolRanker` or `Shortcuts` that makes that of the same cards once in this process."""
    made: dict[str, T] = {}

    def of_cards(cards: Sequence[Card]) -> T:
        written = repr(cards)
        if written not in made:
            made[written] = kind(cards)
        return made[written]

    return of_cards
