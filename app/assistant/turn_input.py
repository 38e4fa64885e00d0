"""What a new message puts into the state, with what the state has missed: lines said unasked, a lost turn."""

import logging
from collections.abc import Sequence
from itertools import takewhile
from typing import Any, cast

from langchain_core.messages import AIMessage, AnyMessage
from langgraph.types import StateSnapshot

from agents.conversation.heard import heard_message
from agents.conversation.migration import from_transcript
from agents.memory.inbox import Letter, Line
from agents.state import SUPERVISOR, State

LOG = logging.getLogger(__name__)
UNASKED = "unasked"
"""The source of a line that answers no message, such as a reminder."""
REMEMBERED = 20
"""Lines of a transcript from which a lost state is rebuilt."""


def given_by(letter: Letter, lang: str, snapshot: StateSnapshot, lines: Sequence[Line]) -> dict[str, Any]:
    """Return what a message puts into the state; also the message before it, if that failed unheard.

    `lines` are the last ones of the transcript.
    """
    state = cast(State, snapshot.values)
    given: dict[str, Any] = {
        "heard": {"id": letter.message_id, "text": letter.text, "source": letter.source},
        "lang": lang,
    }
    told = [*takewhile(lambda line: line.metadata.get("source") == UNASKED, reversed(lines))][::-1]
    said = lines[: len(lines) - len(told)]
    if snapshot.tasks and not snapshot.interrupts and "heard" in state:
        holder = state.get("dialog") or SUPERVISOR
        unheard = heard_message(state["heard"], state.get("talks", {}).get(holder, {}))
        return {**given, "talks": _caught_up(state, told, unheard)}
    if said and said[-1].message_id != state.get("heard", {}).get("id"):
        LOG.warning("thread %s: its state is older than its transcript; rebuilt", letter.thread)
        return {**given, **from_transcript(lines)}
    return {**given, "talks": _caught_up(state, told)}


def _caught_up(state: State, told: Sequence[Line], unheard: AnyMessage | None = None) -> dict[str, Any]:
    """Return what the supervisor and the holder of the conversation have missed: what was said unasked."""
    talks, holder = state.get("talks", {}), state.get("dialog") or SUPERVISOR
    missed: dict[str, Any] = {}
    for name in dict.fromkeys((SUPERVISOR, holder)):
        known = {message.id for message in talks.get(name, {}).get("messages", [])}
        added: list[AnyMessage] = [unheard] if unheard and name == holder else []
        added += [AIMessage(line.text, id=line.message_id) for line in told if line.message_id not in known]
        if added:
            missed[name] = {"add": added}
    return missed
