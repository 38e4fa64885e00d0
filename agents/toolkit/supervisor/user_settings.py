"""The user's settings as they are taken back: time zone and language."""

from collections.abc import Mapping, Sequence

from agents.memory.store import namespace_of
from agents.state.talk import Json
from agents.toolkit import Runtime
from agents.toolkit.traits import Items
from agents.toolkit.undo import entered
from prompts import language, phrase

UNSET = "unset"
"""Marks the language of a conversation whose user had set none."""


class UserSettings(Items):
    """Settings in long-term memory; their keys are "zone" and "language"."""

    name = "settings"

    async def read(self, runtime: Runtime, keys: Sequence[str]) -> Mapping[str, Json]:
        """Return those that are set."""
        assert runtime.store is not None  # the graph is always compiled with a store
        items = await runtime.store.asearch(namespace_of(runtime.context.user, "settings"))
        return {item.key: item.value for item in items if item.key in keys}

    async def write(self, runtime: Runtime, key: str, value: Json | None) -> None:
        """Put a setting back; the conversation goes on in the language that it had."""
        assert runtime.store is not None  # as above
        place = namespace_of(runtime.context.user, "settings")
        if value is None or UNSET in value:
            await runtime.store.adelete(place, key)
        else:
            await runtime.store.aput(place, key, value)
        if value and "lang" in value:
            runtime.state["lang"] = value["lang"]

    def same(self, one: Json | None, other: Json | None) -> bool:
        """Compare two settings; a setting that was not set equals no setting."""
        return _stored(one) == _stored(other)

    def worded(self, value: Json, lang: str) -> str:
        """Return a setting in words."""
        if "zone" in value:
            return phrase("undo_zone", lang, zone=value["zone"])
        names = language(value["lang"]).names
        return phrase("undo_language", lang, language=names[0] if names else value["lang"])


SETTINGS = UserSettings()


async def enter_setting(runtime: Runtime, key: str, value: Json) -> None:
    """Enter in the undo log that a setting is about to change."""
    before = (await SETTINGS.read(runtime, [key])).get(key)
    if before is None and key == "language":
        before = {"lang": runtime.state["lang"], UNSET: True}
    await entered(runtime, SETTINGS, {key: (before, dict(value))})


def _stored(value: Json | None) -> Json | None:
    return None if value is None or UNSET in value else value
