"""Facts that observers remember of a user, as they are taken back."""

from collections.abc import Mapping, Sequence

from langgraph.store.base import BaseStore

from agents.memory.store import namespace_of
from agents.state.talk import Json
from agents.toolkit.runtime import Runtime
from agents.toolkit.traits import Items
from prompts import phrase

REMEMBER = "remember"
"""What the write of an observer is called in the undo log, where those of tools have the tool's name."""


class RememberedFacts(Items):
    """Facts in long-term memory; a key is "kind/name"."""

    name = "facts"

    async def read(self, runtime: Runtime, keys: Sequence[str]) -> Mapping[str, Json]:
        """Return those that are remembered."""
        facts = {key: await fact_of(runtime.store, runtime.context.user, key) for key in keys}
        return {key: fact for key, fact in facts.items() if fact is not None}

    async def write(self, runtime: Runtime, key: str, value: Json | None) -> None:
        """Put a fact back."""
        kind, _, name = key.partition("/")
        place = namespace_of(runtime.context.user, kind)
        assert runtime.store is not None  # the graph is always compiled with a store
        if value is None:
            await runtime.store.adelete(place, name)
        else:
            await runtime.store.aput(place, name, value["fact"])

    def worded(self, value: Json, lang: str) -> str:
        """Return a fact with what it is called; one without a name for users by its own."""
        name = value["name"]
        label = phrase(name, lang) if name == "professional_intent" else name.replace("_", " ")
        return phrase("undo_field", lang, label=label, value="; ".join(map(str, value["fact"].values())))


FACTS = RememberedFacts()


async def fact_of(store: BaseStore | None, user: str, key: str) -> Json | None:
    """Return a fact as it is entered in the undo log; None if it is not remembered."""
    kind, _, name = key.partition("/")
    item = await store.aget(namespace_of(user, kind), name) if store is not None else None
    return {"name": name, "fact": item.value} if item else None
