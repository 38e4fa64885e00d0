"""The events of decisions on who speaks, of hand-overs, and of dialogs that begin and end."""

from dataclasses import dataclass
from typing import ClassVar

from agents.events import Event
from agents.state.verdict import By, Kind


@dataclass(frozen=True, kw_only=True)
class Observed(Event):
    """A decision on who holds the conversation, with its reason."""

    type: ClassVar[str] = "observed"
    observer: str
    verdict: Kind
    target: str | None = None
    reason: str = ""
    by: By

    def __str__(self) -> str:
        target = f" -> {self.target}" if self.target else ""
        return f"{self.observer} ({self.by}): {self.verdict}{target}"


@dataclass(frozen=True, kw_only=True)
class Handover(Event):
    """The conversation changed hands."""

    type: ClassVar[str] = "handover"
    from_: str
    to: str
    brief: str = ""

    def __str__(self) -> str:
        return f"{self.from_} -> {self.to}"


@dataclass(frozen=True, kw_only=True)
class DialogChanged(Event):
    """A dialog was begun, paused, resumed or finished."""

    type: ClassVar[str] = "dialog"
    dialog: str
    status: str

    def __str__(self) -> str:
        return f"{self.dialog} is {self.status}"


@dataclass(frozen=True, kw_only=True)
class Guessed(Event):
    """What the gate's model gave the message, for the log that `calibrate` reads; no door is shown it."""

    type: ClassVar[str] = "guessed"
    score: float
    model: str
