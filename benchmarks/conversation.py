"""The benchmarks' conversation: begin, ten turns, switch, ten turns, back, six turns, leave.

Only the messages are fixed here (`conversation.toml`); the model calls and their number are up to the application.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import cycle
from pathlib import Path
from typing import Literal

from agents.state import SUPERVISOR

TURNS = 30
BLOCK = 10
"""Turns with one specialist before the subject changes."""
ROUND = 2 * BLOCK + 2
"""Turns until the script repeats its place."""
# A speaker's name finds its prompt, so the specialists have the names of dialogs with a prompt.
WORK, ERRANDS = "profile", "planner"


@dataclass(frozen=True)
class Exchange:
    """A user message and its answer; with a `query` the specialist looks something up before it answers."""

    says: str
    answer: str
    query: str = ""
    found: str = ""
    brief: str = ""
    """The supervisor's brief for the next specialist."""


@dataclass(frozen=True)
class Step:
    """One turn of the script: the message and its right speaker."""

    kind: Literal["begin", "continue", "switch", "back", "leave"]
    speaker: str
    exchange: Exchange

    @property
    def route(self) -> str:
        """Return the right verdict of an observer about the message."""
        if self.kind in ("begin", "continue"):
            return "stay"
        return "other" if self.speaker == SUPERVISOR else self.speaker


def script(turns: int = TURNS) -> list[Step]:
    """Return a script of so many turns; every third uses a tool, and the long ones repeat the middle."""
    exchanges = _exchanges()
    steps = [Step("begin", WORK, exchanges["begin"][0]), *_middle(turns, exchanges)]
    return [*steps, Step("leave", SUPERVISOR, exchanges["leave"][0])]


def asking_nothing(steps: Sequence[Step]) -> list[Step]:
    """Return the steps with answers without a closing question, so that a message is rarely a plain reply to one."""
    return [replace(step, exchange=replace(step.exchange, answer=_statements(step.exchange.answer))) for step in steps]


def _statements(answer: str) -> str:
    sentences = [sentence for sentence in re.split(r"(?<=[.?!])\s+", answer) if not sentence.endswith("?")]
    return " ".join(sentences) or "Noted."


def mean_length(steps: Sequence[Step]) -> float:
    """Return the mean length of the user's messages and their answers, in characters."""
    texts = [text for step in steps for text in (step.exchange.says, step.exchange.answer)]
    return sum(map(len, texts)) / len(texts)


def found(query: str) -> str:
    """Return the result of a lookup of `query`."""
    return next(exchange.found for group in _exchanges().values() for exchange in group if exchange.query == query)


def _middle(turns: int, exchanges: Mapping[str, Sequence[Exchange]]) -> Iterator[Step]:
    rest = {name: cycle(some) for name, some in exchanges.items()}
    subjects, subject = {WORK: "work", ERRANDS: "errands"}, WORK
    for number in range(2, turns):
        which = "_lookups" if number % 3 == 0 else ""
        if (number - 1) % (BLOCK + 1):
            yield Step("continue", subject, next(rest[subjects[subject] + which]))
            continue
        kind: Literal["switch", "back"] = "switch" if subject == WORK else "back"
        subject = ERRANDS if subject == WORK else WORK
        yield Step(kind, subject, next(rest[kind + which]))


@cache
def _exchanges() -> dict[str, list[Exchange]]:
    text = Path(__file__).with_suffix(".toml").read_text("utf-8")
    return {name: [Exchange(**fields) for fields in group] for name, group in tomllib.loads(text).items()}
