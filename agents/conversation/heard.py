"""A speaker's history, with the message that it hears now."""

from langchain_core.messages import AnyMessage, HumanMessage

from agents.speaker import Speaker
from agents.state import Heard, State, Talk


def heard_so_far(speaker: Speaker, state: State) -> list[AnyMessage]:
    """Return a speaker's history, the message it hears now included."""
    talk = state.get("talks", {}).get(speaker.name, {})
    new = heard_message(state["heard"], talk)
    return [*talk.get("messages", []), *([new] if new else [])]


def heard_message(heard: Heard, talk: Talk) -> HumanMessage | None:
    """Return the user's message as this speaker hears it; None when there is none or it was heard already."""
    known = any(message.id == heard["id"] for message in reversed(talk.get("messages", [])))
    return None if known or heard["text"] is None else HumanMessage(heard["text"], id=heard["id"])
