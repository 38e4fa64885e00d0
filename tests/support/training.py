"""Trains the ranker of the same tools once in a test run: the same examples always make the same model."""

import fcntl
import hashlib
import marshal
import pickle
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

from agents.language.tool_ranker import linear_model
from agents.language.tool_ranker.linear_model import Linear, Vector
from agents.language.tool_ranker.ranker import Card, Reading, Shortcuts, ToolRanker
from prompts import edition
from tests.support.compiled import discovered

T = TypeVar("T")
Read = Callable[[Collection[str]], Mapping[str, Reading]]
BRIEF, FEW = 100, 10
"""Limits of a brief training: its examples, a fortieth of a whole one's, and those of a tool in each language."""


def trained_once(folder: Path) -> Callable[[int, Sequence[tuple[Vector, int]]], Linear]:
    """Return a replacement for `Linear` that keeps models in a folder of all processes."""
    folder.mkdir(exist_ok=True)

    def linear(classes: int, examples: Sequence[tuple[Vector, int]]) -> Linear:
        if linear_model.VISITS == BRIEF:
            return Linear(classes, examples)
        # Version 2 writes equal values alike, whatever other references they have.
        file = folder / hashlib.sha256(marshal.dumps((classes, [*examples]), 2)).hexdigest()
        # All processes begin at once, and would train the same model side by side.
        with file.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not file.exists():
                file.write_bytes(pickle.dumps(Linear(classes, examples)))
        model: Linear = pickle.loads(file.read_bytes())
        return model

    return linear


def made_once(kind: Callable[[Sequence[Card]], T]) -> Callable[[Sequence[Card]], T]:
    """Return a replacement for a class that makes the object of the same cards once in this process."""
    made: dict[str, T] = {}

    def of_cards(cards: Sequence[Card]) -> T:
        written = repr(cards)
        if written not in made:
            made[written] = kind(cards)
        return made[written]

    return of_cards


def phrases_once(read: Read) -> Read:
    """Return a replacement for `read_phrases` that reads a phrase once: cards of other tools have most of the same."""
    known: dict[object, dict[str, Reading]] = {}

    def reading(phrases: Collection[str]) -> Mapping[str, Reading]:
        found = known.setdefault(edition(), {})
        found |= read([phrase for phrase in phrases if phrase not in found])
        return found

    return reading


def ranker(cards: Sequence[Card]) -> ToolRanker:
    """Return a ranker; one of unshipped tools is trained briefly, at its first use."""
    return ToolRanker(cards) if _are_shipped(cards) else BrieflyTrained(cards)


def shortcuts(cards: Sequence[Card]) -> Shortcuts:
    """Return the shortcuts to tools; with unshipped tools among them, their ranker is trained briefly."""
    return Shortcuts(cards, None if _are_shipped(cards) else BrieflyTrained(cards))


def _are_shipped(cards: Sequence[Card]) -> bool:
    everyone = [*discovered()[0]]
    shipped = {speaker.tool for speaker in everyone}.union(tool.name for speaker in everyone for tool in speaker.tools)
    return shipped.issuperset(card.name for card in cards)


class BrieflyTrained(ToolRanker):
    """A ranker that is trained briefly, at its first use."""

    def __init__(self, cards: Sequence[Card]) -> None:
        self.cards = tuple(cards)

    def __getattr__(self, name: str) -> Any:
        """Train, since the attributes of a trained ranker are missing."""
        cards = self.cards
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(linear_model, "VISITS", BRIEF)
            super().__init__([*map(_brief, cards)])
        self.cards = cards
        return getattr(self, name)


def _brief(card: Card) -> Card:
    return replace(card, examples={lang: phrases[:FEW] for lang, phrases in card.examples.items()})
