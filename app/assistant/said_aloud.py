"""What a thread of several people adds to a turn: who writes, and what the others have said aloud."""

from collections.abc import Sequence
from typing import cast

from agents.conversation.changes import Update
from agents.conversation.persons import name_of
from agents.memory.inbox import TO, UNASKED, InboxEntry, TranscriptLine, writers_of
from agents.state import SUPERVISOR, State
from agents.state.person import Person

MOST = 10
"""Lines that a speaker is told."""
LONGEST = 300
"""Characters of such a line."""


def shared_update(entry: InboxEntry, state: State, lines: Sequence[TranscriptLine], name: str) -> Update:
    """Return what a message changes where several people write.

    `lines` are the last ones of the transcript, `name` is what the writer is called; empty: as before.
    """
    writer = state.get("writer", entry.user)
    persons = dict(state.get("persons", {}))
    update: Update = {}
    if "writer" not in state and state.get("talks"):
        update["writer"] = writer = _writer_of(lines)
    if "lang" in state and writer != entry.user:
        persons[writer] = cast(Person, {**persons.get(writer, {}), "lang": state["lang"]})
    if name or entry.user not in persons:
        persons[entry.user] = cast(Person, {**persons.get(entry.user, {}), "name": name})
    named = cast(State, {**state, "persons": persons})
    return {**update, "persons": persons, "beside": said_by_others(named, entry.user, lines)}


def said_by_others(state: State, user: str, lines: Sequence[TranscriptLine]) -> list[str]:
    """Return what others said while several could read it, and what rang for this user, a line each, oldest first.

    What somebody said before anybody else was there, and what they were answered, stays between them and the assistant.
    """
    aloud = {line.message_id for line in lines if TO in line.metadata}
    others = (line for line in lines if line.message_id in aloud and _is_told(line, user))
    return [_worded(state, line) for line in [*others][-MOST:]]


def _writer_of(lines: Sequence[TranscriptLine]) -> str:
    """Return whose the state of an older thread is; nobody's if several people made it."""
    users = writers_of(lines)
    return users.pop() if len(users) == 1 else ""


def _is_told(line: TranscriptLine, user: str) -> bool:
    if line.role == "user":
        return line.speaker != user
    return line.metadata.get("source") == UNASKED and line.metadata.get(TO) == user


def _worded(state: State, line: TranscriptLine) -> str:
    text = " ".join(line.text.split())[:LONGEST]
    return f"{name_of(state, line.speaker) if line.role == 'user' else SUPERVISOR}: {text}"
