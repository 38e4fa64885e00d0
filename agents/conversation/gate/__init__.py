"""The gate: a local guess, in less than a millisecond, whether a user message leaves the dialog.

Any `Gate` can take the trained one's place (`build_graph(gate=…)`). Below LOW only the dialog hears the message. From
HIGH the observers are asked before the dialog drafts an answer; in between both work side by side.

The trained gate is a logistic regression whose weights come with the application: `python -m benchmarks.gate_training`
writes them. The thresholds may be moved for one installation.
"""

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from heapq import nlargest
from pathlib import Path

from agents.conversation.gate.features import asks, features, last_question
from agents.conversation.scene import Scene
from agents.language.text.stems import words
from agents.language.text.vocabulary import is_said, listening, mentions, small_words, takes_leave, vocabulary, wishes
from agents.state.verdict import because

LOW = 0.2
HIGH = 0.8
FILE = Path(__file__).with_name("weights.json")
CUE = 0.9
"""The guess for a message that says itself that it leaves: "let us talk about something else"."""
LONGEST_ANSWER = 12
"""Words of a plain answer to a question of a form."""
MOST_REASONS = 3
"""The most features in the reason of a guess."""


@dataclass(frozen=True)
class Guess:
    """The likelihood that the user leaves the dialog, from 0 (stays) to 1 (leaves), and its reason."""

    leaves: float
    reason: str
    score: float | None = None
    """The score of the message by the weights: log-odds up to a constant; None from a gate without weights. `calibrate`
    learns from it."""
    model: str = ""
    """The name of these weights; scores of different weights cannot be compared."""


Gate = Callable[[Scene], Guess]


@dataclass(frozen=True)
class Thresholds:
    """Scores of the model between which its guesses are doubtful."""

    low: float
    """The message stays below this score: the observers are not asked."""
    high: float
    """The message leaves from this score on: the observers are asked before the dialog drafts an answer."""

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


@cache
def weights() -> Weights:
    """Return the weights that come with the application; they are read once."""
    content = FILE.read_bytes()
    stored, name = json.loads(content), hashlib.sha256(content).hexdigest()[:12]
    return Weights(name, stored["constant"], stored["weights"], Thresholds(stored["low"], stored["high"]))


def trained_gate(thresholds: Thresholds | None = None) -> Gate:
    """Return the trained gate, with the thresholds of this installation if it was calibrated."""

    def gate(scene: Scene) -> Guess:
        model, values = weights(), features(scene)
        parts = {name: model.weights.get(name, 0.0) * value for name, value in values.items()}
        # The log-odds, up to a constant, that the message leaves.
        score = model.constant + sum(parts.values())
        if cue := mentions("switch", scene.text, scene.lang):
            return Guess(CUE, because("cue", words=repr(cue)), score, model.name)
        limits = thresholds or model.thresholds
        if score < limits.low and _refuses_with_wish(scene):
            return Guess(LOW, because("refusal"), score, model.name)
        if score >= limits.low and scene.missing and _is_plain_answer(scene):
            return Guess(0.0, because("plain_answer"), score, model.name)
        sign = 1 if score >= limits.low else -1
        best = nlargest(MOST_REASONS, ((sign * part, name) for name, part in parts.items()))
        reason = ", ".join(name for part, name in best if part > 0)
        return Guess(limits.share(score), f"score {score:.2f}: {reason}", score, model.name)

    return gate


def _refuses_with_wish(scene: Scene) -> bool:
    begun = vocabulary(listening(scene.text, scene.lang)).behind(scene.text, "no")
    return begun is not None and wishes(scene.text, scene.lang)


def _is_plain_answer(scene: Scene) -> bool:
    """Tell whether a short statement follows a question, and begins neither as a wish nor as an example for others."""
    text, lang, question = scene.text, listening(scene.text, scene.lang), last_question(scene.reply or "")
    row = words(text)
    if not (question and row) or mentions("anything_else", question, scene.lang) or len(row) > LONGEST_ANSWER:
        return False
    if asks(text) or vocabulary(lang).asks(text) or takes_leave(text, lang) or wishes(text, lang):
        return False
    others = (phrases for name, phrases in scene.examples.items() if name != scene.dialog)
    beginnings = {word for phrases in others for phrase in phrases for word in words(phrase)[:1]}
    return is_said("no", row[0]) or row[0] not in beginnings - small_words(lang)
