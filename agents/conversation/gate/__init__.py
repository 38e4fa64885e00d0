"""The gate: a local guess, in less than a millisecond, whether a user message leaves the dialog.

Any `Gate` can take the trained one's place (`build_graph(gate=…)`). Below LOW only the dialog hears the message. From
HIGH the observers are asked before the dialog drafts an answer; in between both work side by side.
"""

from collections.abc import Callable
from dataclasses import dataclass

from agents.conversation.scene import Scene

LOW = 0.2
HIGH = 0.8


@dataclass(frozen=True)
class Score:
    """What a model gave a message, before any threshold."""

    value: float
    """Log-odds up to a constant; higher is likelier to leave."""
    model: str
    """A name of the weights; scores of different weights cannot be compared."""


@dataclass(frozen=True)
class Guess:
    """How likely the user leaves the dialog, from 0 (stays) to 1 (leaves), and why."""

    leaves: float
    reason: str
    score: Score | None = None
    """The score behind the guess; None of a gate that has none. `calibrate` learns from it."""


Gate = Callable[[Scene], Guess]


def asks(reply: str) -> bool:
    """Tell whether a reply asks the user something."""
    return "?" in reply or "？" in reply
