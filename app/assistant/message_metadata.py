"""What a model is told of a user message in custom forwarding, beside its text."""

from collections.abc import Sequence
from datetime import UTC, datetime

from agents.memory.inbox import TOLD, InboxEntry, TranscriptLine, lines_of
from agents.state.message_notes import Metadata, StoppedAnswer
from agents.toolkit.context import Context

LONGEST = 2000
"""Characters of a stopped answer that are told."""


def metadata_of(entry: InboxEntry, lines: Sequence[TranscriptLine], context: Context, name: str) -> Metadata:
    """Return a message's metadata; `lines` are the last ones of the transcript, `name` is what its writer is called."""
    metadata = Metadata(time=_time(entry.received_ms, context), user=name or entry.user, source=entry.source)
    answers = [
        line
        for line in lines_of(entry.user, lines)
        if line.role == "assistant" and line.metadata.get("source") not in TOLD
    ]
    if answers and answers[-1].metadata.get("interrupted"):
        stopped = answers[-1].metadata
        original = str(stopped.get("original", ""))[:LONGEST]
        metadata["stopped"] = StoppedAnswer(time=_time(stopped["interrupt_timestamp"], context), original=original)
    elif answers:
        metadata["answered"] = _time(answers[-1].at_ms, context)
    return metadata


def _time(ms: int, context: Context) -> str:
    """Return a time (Unix ms) as the user's clock shows it, to the second."""
    return datetime.fromtimestamp(ms / 1000, UTC).astimezone(context.zone).isoformat(timespec="seconds")
