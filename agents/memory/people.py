"""Whose the lines of a transcript are, where several people write."""

from collections.abc import Sequence

from agents.memory.inbox import TranscriptLine

UNASKED = "unasked"
"""The source of a line that answers no message, such as a reminder."""
SILENCE = "silence"
"""The source of the question to a user who says nothing."""
TOLD = (UNASKED, SILENCE)
"""The sources of lines that answer no message."""
TO = "to"
"""The note of an answer that others could read: the user to whom it was given."""


def writers_of(lines: Sequence[TranscriptLine]) -> set[str]:
    """Return the users who wrote these lines."""
    return {line.speaker for line in lines if line.role == "user"}


def lines_of(user: str, lines: Sequence[TranscriptLine]) -> list[TranscriptLine]:
    """Return what a user said and was answered; in a thread of one person, all of it."""
    if writers_of(lines) <= {user}:
        return [*lines]
    own = {line.message_id for line in lines if line.role == "user" and line.speaker == user}
    return [line for line in lines if line.message_id in own or line.metadata.get(TO) == user]
