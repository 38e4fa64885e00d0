"""The state update of a new message, with what the state lacks: unasked messages, the message of a failed turn."""

import logging
from collections.abc import Sequence
from itertools import takewhile
from typing import cast

from langchain_core.messages import AIMessage, AnyMessage
from langgraph.types import StateSnapshot

from agents.conversation.changes import Update
from agents.conversation.heard import heard_message
from agents.conversation.migration import from_transcript
from agents.history import dangling, set_before
from agents.memory.inbox import InboxEntry, TranscriptLine
from agents.state import SUPERVISOR, State
from agents.talk import TalkUpdate

LOG = logging.getLogger(__name__)
UNASKED = "unasked"
"""The source of a line that answers no message, such as a reminder."""
REMEMBERED = 20
"""Lines of a transcript from which a lost state is rebuilt."""


def update_for(entry: InboxEntry, lang: str, snapshot: StateSnapshot, lines: Sequence[TranscriptLine]) -> Update:
    """Return the state update of a message; it includes the message before it, if no model has read that one.

    `lines` are the last ones of the transcript.
    """
    state = cast(State, snapshot.values)
    update: Update = {"heard": {"id": entry.message_id, "text": entry.text, "source": entry.source}, "lang": lang}
    unasked = [*takewhile(lambda line: line.metadata.get("source") == UNASKED, reversed(lines))][::-1]
    answered = lines[: len(lines) - len(unasked)]
    if snapshot.tasks and not snapshot.interrupts and "heard" in state and not _only_stored(snapshot, answered):
        holder = state.get("dialog") or SUPERVISOR
        unheard = heard_message(state["heard"], state.get("talks", {}).get(holder, {}))
        return {**update, "talks": _caught_up(state, unasked, unheard)}
    if answered and answered[-1].message_id != state.get("heard", {}).get("id"):
        LOG.warning("thread %s: its state is older than its transcript; rebuilt", entry.thread)
        return {**update, **from_transcript(lines)}
    return {**update, "talks": _caught_up(state, unasked)}


def _only_stored(snapshot: StateSnapshot, answered: Sequence[TranscriptLine]) -> bool:
    """Whether a crash left nothing but the input of a turn: the message that the state holds was answered before it."""
    last = answered[-1] if answered else None
    if last is None or last.role == "user" or last.metadata.get("interrupted"):
        return False
    return last.message_id == snapshot.values["heard"]["id"] and snapshot.next == ("__start__",)


def _caught_up(
    state: State, unasked: Sequence[TranscriptLine], unheard: AnyMessage | None = None
) -> dict[str, TalkUpdate]:
    """Return the unasked messages that the supervisor and the holder of the conversation have not seen."""
    talks, holder = state.get("talks", {}), state.get("dialog") or SUPERVISOR
    missed: dict[str, TalkUpdate] = {}
    for name in dict.fromkeys((SUPERVISOR, holder)):
        messages = talks.get(name, {}).get("messages", [])
        ids = {message.id for message in messages}
        told: list[AnyMessage] = [AIMessage(line.text, id=line.message_id) for line in unasked]
        told = [message for message in told if message.id not in ids]
        heard: list[AnyMessage] = [unheard] if unheard and name == holder else []
        if told and dangling(messages):
            # Behind a call that waits for the user's answer nothing but its answer may stand.
            missed[name] = {"messages": set_before(messages, told), "add": heard}
        elif added := [*heard, *told]:
            missed[name] = {"add": added}
    return missed
