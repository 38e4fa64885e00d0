"""A user's profile in long-term memory."""

from collections.abc import Mapping

from langgraph.store.base import BaseStore

from agents.memory.store import namespace_of

INTENT = "professional_intent"
"""The key of the fact that the observer notes."""


async def form_of_user(store: BaseStore | None, user: str) -> Mapping[str, object]:
    """Return the values of a user's profile."""
    item = await store.aget(namespace_of(user, "forms"), "profile") if store else None
    return item.value if item else {}


async def intent_of_user(store: BaseStore | None, user: str) -> str:
    """Return the user's professional goal from the observer; empty if it is not known."""
    item = await store.aget(namespace_of(user, "facts"), INTENT) if store else None
    return str(item.value["text"]) if item else ""
