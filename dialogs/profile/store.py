"""A user's profile in long-term memory."""

from collections.abc import Mapping, Sequence
from typing import cast

from langgraph.store.base import BaseStore, GetOp, Item

from agents.memory.store import namespace_of

INTENT = "professional_intent"
"""The key of the fact that the observer notes."""


async def told_of_user(store: BaseStore, user: str) -> tuple[str, Mapping[str, object]]:
    """Return a user's professional goal and profile, in one trip to the database: every turn reads them."""
    reads = GetOp(namespace_of(user, "facts"), INTENT), GetOp(namespace_of(user, "forms"), "profile")
    fact, form = cast("Sequence[Item | None]", await store.abatch(reads))
    return str(fact.value["text"]) if fact else "", form.value if form else {}


async def form_of_user(store: BaseStore | None, user: str) -> Mapping[str, object]:
    """Return the values of a user's profile."""
    item = await store.aget(namespace_of(user, "forms"), "profile") if store else None
    return item.value if item else {}


async def intent_of_user(store: BaseStore | None, user: str) -> str:
    """Return the user's professional goal from the observer; empty if it is not known."""
    item = await store.aget(namespace_of(user, "facts"), INTENT) if store else None
    return str(item.value["text"]) if item else ""
