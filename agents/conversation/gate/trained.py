"""The trained gate: a logistic regression whose weights come with the application.

`python -m benchmarks.gate_training` writes the weights; `python -m app calibrate` moves the thresholds for one
installation.
"""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from heapq import nlargest
from pathlib import Path

from agents.conversation.gate import HIGH, LOW, Gate, Guess, Score
from agents.conversation.gate.features import features
from agents.conversation.gate.subjects import Features
from agents.conversation.scene import Scene
from agents.language.text.vocabulary import mentions

FILE = Path(__file__).with_name("weights.json")
CUE = 0.9
"""The guess for a message that says so itself: "let us talk about something else"."""
MOST_REASONS = 3
"""Features that a guess names as its reason."""


@dataclass(frozen=True)
class Thresholds:
    """Scores of the model between which its guesses are doubtful."""

    low: float
    """Below it the message stays: the observers are not asked."""
    high: float
    """From it on the message leaves: the observers are asked before the dialog drafts an answer."""

    def share(self, score: float) -> float:
        """Return a score as a likelihood from 0 to 1 that is LOW at `low` and HIGH at `high`."""
        low, high = math.log(LOW / (1 - LOW)), math.log(HIGH / (1 - HIGH))
        slope = (high - low) / max(self.high - self.low, 0.01)
        return 1 / (1 + math.exp(-max(-50.0, min(50.0, low + slope * (score - self.low)))))


@dataclass(frozen=True)
class Weights:
    """The model: a weight for each feature, and the thresholds that its training chose."""

    name: str
    """Changes with the weights: the beginning of the file's SHA-256."""
    constant: float
    weights: Mapping[str, float]
    thresholds: Thresholds

    def score(self, seen: Features) -> float:
        """Return the log-odds, up to a constant, that the message leaves."""
        return self.constant + sum(self.weights.get(name, 0.0) * value for name, value in seen.items())

    def reason(self, seen: Features, *, leaves: bool) -> str:
        """Return the features that speak most for the guess."""
        sign = 1 if leaves else -1
        parts = ((sign * self.weights.get(name, 0.0) * value, name) for name, value in seen.items())
        return ", ".join(name for part, name in nlargest(MOST_REASONS, parts) if part > 0)


@cache
def weights() -> Weights:
    """Return the weights that come with the application; they are read once."""
    content = FILE.read_bytes()
    stored, name = json.loads(content), hashlib.sha256(content).hexdigest()[:12]
    return Weights(name, stored["constant"], stored["weights"], Thresholds(stored["low"], stored["high"]))


def trained_gate(thresholds: Thresholds | None = None) -> Gate:
    """Return the trained gate, with the thresholds of this installation if it was calibrated."""

    def gate(scene: Scene) -> Guess:
        model, seen = weights(), features(scene)
        score, limits = model.score(seen), thresholds or model.thresholds
        if cue := mentions("switch", scene.text, scene.lang):
            return Guess(CUE, f"cue {cue!r}", Score(score, model.name))
        reason = model.reason(seen, leaves=score >= limits.low)
        return Guess(limits.share(score), f"score {score:.2f}: {reason}", Score(score, model.name))

    return gate
