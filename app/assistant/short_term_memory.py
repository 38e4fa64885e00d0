"""The short-term memory of a thread as plain data: every message, in the one form of all doors."""

import json
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter
from typing_extensions import TypedDict

from agents.events import Message
from agents.memory.inbox import PERSON, TOLD, InboxEntry, TranscriptLine
from agents.memory.transcript import Answered
from agents.state.citations import Citation
from agents.state.person import ASR
from app.assistant.system_messages import SystemMessages

COMMAND = "command"
"""The source of a message that nobody typed or said: a tap, a slash command, a reminder."""
SOURCES = {
    "user": (ASR, "message", COMMAND),
    "assistant": ("llm", "greeting", "llm failure", COMMAND, "silence", PERSON),
}
"""The sources that a message can have, by role."""
COUNTED_AS = {"forwarded": "message", "aside": "message"}
"""The sources of the list for other stored ones; every source beyond both is a command."""


LAST_TURN, LAST_MS = 1_000_000_000, 253_402_000_000_000
"""The largest number of a turn, and the last moment that a date can name."""
Moment = Annotated[int, Field(ge=0, le=LAST_MS)]


class LineMetadata(TypedDict, total=False):
    """The metadata of a line with types that this program relies on."""

    source: str
    kind: str
    user: str
    interrupted: bool
    interrupt_timestamp: Moment
    to: str
    code: str
    citations: list[Citation]


LINE_METADATA = TypeAdapter(LineMetadata)


def _readable(metadata: dict[str, Any]) -> dict[str, Any]:
    LINE_METADATA.validate_python(metadata)
    return metadata


class Content(TypedDict):
    """One message of a thread."""

    role: Literal["user", "assistant"]
    speaker: str
    """The id of the user who wrote the message, or the name of the speaker: the supervisor or a dialog."""
    content: str
    """The text that the user wrote, or saw."""
    turn_id: Annotated[int, Field(ge=0, le=LAST_TURN)]
    """The number of its turn, from 0; a message and its answers have the same one."""
    timestamp: Moment
    """Unix time in milliseconds: of a message's arrival, of an answer's end."""
    message_id: str
    """The id of the message that began the turn."""
    metadata: Annotated[dict[str, Any], AfterValidator(_readable)]
    """The message's source, and further facts (docs/memory.md)."""


def message_of(line: TranscriptLine) -> Message:
    """Return the event of an answer."""
    is_stopped, citations = bool(line.metadata.get("interrupted")), line.metadata.get("citations", [])
    return Message(speaker=line.speaker, text=line.text, interrupted=is_stopped, citations=citations)


def contents(lines: Sequence[TranscriptLine]) -> list[Content]:
    """Return the lines of a transcript in the form of the short-term memory, oldest first."""
    return [
        Content(
            role=line.role,
            speaker=line.speaker,
            content=line.text,
            # A thread may begin with an unasked message.
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


class ExportedThread(SystemMessages):
    """The thread in `export --format json`; an import rebuilds the rest of its state from the transcript."""

    model_config = ConfigDict(extra="ignore")
    thread: Annotated[str, Field(min_length=1)]
    contents: Annotated[list[Content], Field(min_length=1)]

    def messages(self, thread: str) -> list[Answered]:
        """Return each message with its answers, as part of the thread of this name."""
        writers = [content["speaker"] for content in self.contents if content["role"] == "user"]
        answered: list[Answered] = []
        # An unasked message may stand between a message and its answer.
        groups: dict[str, list[Content]] = {}
        for content in self.contents:
            groups.setdefault(content["message_id"], []).append(content)
        for id, group in groups.items():
            message, *answers = lines = [_line(content) for content in group]
            source = str(message.metadata.get("source", "message"))
            if source in TOLD:
                answered.append((None, lines))
                continue
            is_heard = message.role == "user"
            user, text = (message.speaker, message.text) if is_heard else (writers[0] if writers else thread, None)
            quoted = json.dumps(it, ensure_ascii=False) if (it := message.metadata.get("quoted")) else None
            entry = InboxEntry(thread, id, user, text, source, "done", message.turn, quoted, message.at_ms)
            answered.append((entry, answers if is_heard else lines))
        return answered


def _line(content: Content) -> TranscriptLine:
    """Return the transcript line of a message, as the reverse of `contents`."""
    stored = {name: value for name, value in content["metadata"].items() if name not in ("kind", "user")}
    stored["source"] = content["metadata"].get("kind", content["metadata"].get("source", ""))
    place = content["turn_id"] + 1, content["message_id"], content["timestamp"]
    return TranscriptLine(content["role"], content["speaker"], content["content"], *place, stored)
