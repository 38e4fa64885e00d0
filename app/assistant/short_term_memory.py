"""The short-term memory of a thread as plain data: every message that was said, in the one form of all doors."""

from collections.abc import Sequence
from typing import Any, Literal

from typing_extensions import TypedDict

from agents.events import Message
from agents.memory.inbox import PERSON, TranscriptLine
from agents.state.person import ASR

COMMAND = "command"
"""The source of what nobody typed or said: a tap, a slash command, a reminder."""
SOURCES = {
    "user": (ASR, "message", COMMAND),
    "assistant": ("llm", "greeting", "llm failure", COMMAND, "silence", PERSON),
}
"""The sources that a message can have, by role."""
COUNTED_AS = {"forwarded": "message"}
"""What the other stored sources are among these; every other one is a command."""


class Content(TypedDict):
    """One message of a thread."""

    role: Literal["user", "assistant"]
    speaker: str
    """The id of the user who wrote it, or the name of the speaker: the supervisor or a dialog."""
    content: str
    """What the user wrote, or saw."""
    turn_id: int
    """The number of its turn, from 0; a message and its answers have the same one."""
    timestamp: int
    """Unix time in milliseconds: when a message was received, when an answer was said in full."""
    message_id: str
    """The id of the message that began the turn."""
    metadata: dict[str, Any]
    """Where it comes from, and what else is known of it (docs/memory.md)."""


def message_of(line: TranscriptLine) -> Message:
    """Return an answer as the event by which it was said."""
    is_stopped, citations = bool(line.metadata.get("interrupted")), line.metadata.get("citations", [])
    return Message(speaker=line.speaker, text=line.text, interrupted=is_stopped, citations=citations)


def contents(lines: Sequence[TranscriptLine]) -> list[Content]:
    """Return the lines of a transcript in the form of the short-term memory, oldest first."""
    return [
        Content(
            role=line.role,
            speaker=line.speaker,
            content=line.text,
            # A thread may begin with what was told before anybody spoke.
            turn_id=max(0, line.turn - 1),
            timestamp=line.at_ms,
            message_id=line.message_id,
            metadata=_metadata(line),
        )
        for line in lines
    ]


def _metadata(line: TranscriptLine) -> dict[str, Any]:
    """Return a line's metadata: a source of the list first, with the stored one as its kind where it says more."""
    others = {name: value for name, value in line.metadata.items() if name != "source"}
    stored = line.metadata.get("source", "")
    source = stored if stored in SOURCES[line.role] else COUNTED_AS.get(stored, COMMAND)
    kind = {"kind": stored} if stored not in ("", source) else {}
    user = {"user": line.speaker} if line.role == "user" else {}
    return {"source": source, **kind, **user, **others}
