"""The records of inbox and transcript: received messages, lines that were said, and their users."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from agents.language.text.clean import whole

Status = Literal["done", "failed", "interrupted"]
UNASKED = "unasked"
"""The source of a line that answers no message, such as a reminder."""
SILENCE = "silence"
"""The source of the question to a user who says nothing."""
PERSON = "person"
"""The source of the words of a person who has taken the conversation over."""
TOLD = (UNASKED, SILENCE, PERSON)
"""The sources of lines that answer no message."""
TO = "to"
"""The metadata of an answer that others could read: the user who was answered."""


@dataclass(frozen=True)
class InboxEntry:
    """A message as it was received; without a `text` the assistant speaks unasked."""

    thread: str
    message_id: str
    user: str
    text: str | None
    source: str
    status: Literal["open", "done", "failed", "interrupted"] = "open"
    turn: int = 0
    quoted: str | None = None
    """The quotation that the message refers to, as JSON."""
    received_ms: int = field(default=0, compare=False)
    """The time of receipt, Unix time in ms; 0 for a message that is not stored yet."""


@dataclass(frozen=True)
class TranscriptLine:
    """One line of a transcript. `at_ms` is Unix time in milliseconds."""

    role: Literal["user", "assistant"]
    speaker: str
    text: str
    turn: int
    message_id: str
    at_ms: int
    metadata: dict[str, Any] = field(default_factory=dict)
    row: int = field(default=0, compare=False)
    """Its place among all lines; 0 for one that is not stored yet."""


def storable(text: str) -> str:
    """Return `text` fit for storage: NUL dropped, lone surrogates replaced by U+FFFD."""
    return str(whole(text))


def now_ms() -> int:
    """Return the Unix time in milliseconds."""
    return time.time_ns() // 1_000_000


def writers_of(lines: Sequence[TranscriptLine]) -> set[str]:
    """Return the users who wrote these lines."""
    return {line.speaker for line in lines if line.role == "user"}


def lines_of(user: str, lines: Sequence[TranscriptLine]) -> list[TranscriptLine]:
    """Return a user's lines and the answers to them; in a thread of one person, all lines."""
    if writers_of(lines) <= {user}:
        return [*lines]
    own = {line.message_id for line in lines if line.role == "user" and line.speaker == user}
    return [line for line in lines if line.message_id in own or line.metadata.get(TO) == user]
