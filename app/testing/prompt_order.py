"""The order of roles in a prompt, for the strictest chat templates."""

from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage

FOLLOWS = {
    "start": {"system"},
    "system": {"human"},
    "human": {"ai", "call"},
    "ai": {"human"},
    "call": {"tool"},
    "tool": {"ai", "call"},
}
"""The roles that may follow a role; "call" is a reply with a tool call."""


def order_faults(messages: Sequence[BaseMessage]) -> list[str]:
    """Return the faults of a prompt for a strict chat template; empty for a prompt that all templates take."""
    faults, before = [], "start"
    for message in messages:
        calls = message.tool_calls if isinstance(message, AIMessage) else []
        role = "call" if calls else message.type
        if role not in FOLLOWS[before]:
            faults.append(f"{role} behind {before}")
        if len(calls) > 1:
            faults.append("several calls in one reply")
        if calls and message.text:
            faults.append("a text beside a call")
        before = role
    return faults if before in ("human", "tool") else [*faults, f"{before} stands last"]
