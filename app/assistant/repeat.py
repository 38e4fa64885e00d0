"""What was said, told once more: a question that is still open comes with what it can be answered with."""

from collections.abc import Sequence
from dataclasses import replace

from agents.events import Event, Message
from agents.questions import ask, worded
from agents.state import State


def retold(said: Sequence[Message], state: State) -> list[Event]:
    """Return these messages of the thread's last turn as they were shown; views are told in their words."""
    if not said or not (pending := state.get("pending")):
        return [*said]
    question = ask(pending[0], state["lang"])
    if said[-1].text != worded(question, state["lang"]):
        return [*said]
    return [*said[:-1], question, replace(said[-1], shown=True)]
