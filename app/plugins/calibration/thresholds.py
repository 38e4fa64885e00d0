"""Fit the gate's thresholds to the log of one installation."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from agents.conversation.gate import Thresholds
from agents.errors import UsageError
from agents.memory.gate_log import Logged

LEAST_SWITCHES = 50
"""The least number of confirmed changes of subject for a fit."""
LEAST_STAYS = 100
"""The least number of messages for a fit that were found to stay."""
RECALL = 0.99
"""The share of the confirmed changes of subject that must score `low` or more."""
SURE = 0.85
"""The share of messages from `high` on that must leave."""
SPREAD = 0.5
"""The least distance between the thresholds."""
FARTHEST = 3.0
"""The most distance of the new threshold from the shipped one."""


@dataclass(frozen=True)
class Calibration:
    """Thresholds for one installation, with the numbers behind them."""

    thresholds: Thresholds
    turns: int
    switches: int
    spared: float
    """The share of these turns in which the new thresholds need no observer."""
    spared_before: float
    """The share in which the thresholds in use need none."""


def fitted(log: Sequence[Logged], shipped: Thresholds, used: Thresholds) -> Calibration:
    """Fit thresholds to a log.

    `low` rises as far as the observers' verdicts show that no change of subject is lost. It falls where dialogs gave
    messages back that the gate had let pass.

    Raises:
        UsageError: the log is too short to tell.
    """
    scores = sorted(guess.score for guess in log if guess.leaves)
    stays = sum(guess.watched and not guess.leaves for guess in log)
    if len(scores) < LEAST_SWITCHES or stays < LEAST_STAYS:
        raise UsageError(
            f"The log has {len(scores)} changes of subject and {stays} messages that stayed; calibrating needs"
            f" {LEAST_SWITCHES} and {LEAST_STAYS}. The thresholds are left as they are."
        )
    low = scores[int((1 - RECALL) * len(scores))]
    low = max(shipped.low - FARTHEST, min(shipped.low + FARTHEST, low))
    high = max(_surely_leaving(log, shipped.high), low + SPREAD)
    return Calibration(Thresholds(low, high), len(log), len(scores), _spared(log, low), _spared(log, used.low))


def _surely_leaving(log: Sequence[Logged], otherwise: float) -> float:
    """Return the lowest score from which most messages left: a draft of an answer is a waste there."""
    leaving, number, best = 0, 0, otherwise
    ranked = sorted(log, key=lambda guess: -guess.score)
    for score, group in groupby(ranked, key=lambda guess: guess.score):
        equal = list(group)
        number, leaving = number + len(equal), leaving + sum(guess.leaves for guess in equal)
        if number >= LEAST_SWITCHES // 2 and leaving >= SURE * number:
            best = score
    return best


def _spared(log: Sequence[Logged], low: float) -> float:
    return sum(guess.score < low for guess in log) / len(log)
