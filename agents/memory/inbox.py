"""What inbox and transcript hold: the messages as they were received, and the lines that were said."""

import re
import time
from dataclasses import dataclass, field
from typing import Any, Literal

Status = Literal["done", "failed", "interrupted"]


@dataclass(frozen=True)
class InboxEntry:
    """A message as it was received; `text` is None when the assistant shall speak unasked."""

    thread: str
    message_id: str
    user: str
    text: str | None
    source: str
    status: Literal["open", "done", "failed", "interrupted"] = "open"
    turn: int = 0
    quoted: str | None = None
    """What the message refers to, as JSON."""
    received_ms: int = field(default=0, compare=False)
    """When it was received, Unix time in ms; 0 for a message that is not stored yet."""


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


@dataclass(frozen=True)
class ThreadInfo:
    """A thread in a list: who wrote last, how many turns, when something was said last (Unix ms)."""

    thread: str
    user: str
    turns: int
    active_ms: int
    first: str = ""
    """The first thing that a user said in it."""


def clean(text: str) -> str:
    """Return `text` fit for storage: NUL dropped, lone surrogates replaced by U+FFFD."""
    return re.sub("[\ud800-\udfff]", "\ufffd", text.replace("\0", ""))


def now_ms() -> int:
    """Return the Unix time in milliseconds."""
    return time.time_ns() // 1_000_000
