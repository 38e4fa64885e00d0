"""The events of model calls."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from agents.errors import Trouble
from agents.events import Event


@dataclass(frozen=True, kw_only=True)
class ModelStart(Event):
    """A model was called for a speaker or an observer."""

    type: ClassVar[str] = "model.start"
    speaker: str
    model: str

    def __str__(self) -> str:
        return f"{self.speaker} asks {self.model}"


@dataclass(frozen=True, kw_only=True)
class ModelThinking(Event):
    """A model has begun to think before it answers; at most once a call. Doors show it as a sign of progress."""

    type: ClassVar[str] = "model.thinking"
    speaker: str
    model: str

    def __str__(self) -> str:
        return f"{self.speaker}: {self.model} thinks"


@dataclass(frozen=True, kw_only=True)
class ModelEnd(Event):
    """A model call ended; `ok` false when it failed or its draft was thrown away."""

    type: ClassVar[str] = "model.end"
    speaker: str
    model: str
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    ms: int = 0
    ok: bool = True

    def __str__(self) -> str:
        return f"{self.speaker} has heard from {self.model}" if self.ok else f"{self.speaker}: {self.model} failed"


@dataclass(frozen=True, kw_only=True)
class Replied(Event):
    """The reply of a role's models, for the record of the turn (`app.recording`); doors do not get it.

    Without a reply the draft was thrown away or, with `trouble`, none could be had.
    """

    type: ClassVar[str] = "model.reply"
    speaker: str
    role: str
    text: str | None = None
    calls: Sequence[tuple[str, Mapping[str, object]]] = ()
    trouble: Trouble | None = None
