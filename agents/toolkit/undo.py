"""Undo of tools' writes; `docs/write-a-tool.md` shows how a tool declares its writes."""

from collections.abc import Mapping, Sequence

from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.store.base import BaseStore
from langgraph.types import Command

from agents.memory.store import namespace_of
from agents.memory.undo_log import Changes, ToolWrite
from agents.state.speaker_state import Json
from agents.toolkit.context import Runtime, store_of
from agents.toolkit.questions.form import value_in_words
from agents.toolkit.traits import Items, traits
from prompts import fact_label, field_label, language, phrase

OUTCOMES = ("back", "gone", "changed", "stale")
"""A deleted item is back, an added item is gone. An item that others have changed since is stale, and stays."""
TakenBack = Mapping[str, Sequence[str]]
"""The items that were taken back, in words for the user, by outcome."""
REMEMBER = "remember"
"""The name of an observer's write in the undo log, in place of a tool's name."""
UNDO_LAST = "undo_last"
"""The tool by which a model takes the last write back."""
UNSET = "unset"
"""Marks a language that the user had not set: the conversation's own."""


@traits(effect="write", repeatable=True, always=True)
@tool(UNDO_LAST)
async def undo_last(runtime: Runtime) -> Command[str]:
    """Take back what was just written, if asked."""
    text = phrase("undo_called", runtime.state["lang"])
    answer = ToolMessage(text, tool_call_id=runtime.tool_call_id or "", name=UNDO_LAST)
    return Command(update={"undoing": UNDO_LAST, "messages": [answer]})


async def entered(runtime: Runtime, items: Items, changes: Changes) -> None:
    """Enter the changes that this call is about to make; call it before they are made."""
    if runtime.context.undo is not None and changes:
        await runtime.context.undo.enter(write_of(runtime), items.name, changes)


async def begun(runtime: Runtime, items: Items) -> Changes:
    """Return the changes that an earlier try of this call was about to make before a crash."""
    if runtime.context.undo is None:
        return {}
    return await runtime.context.undo.changes(write_of(runtime), items.name)


def write_of(runtime: Runtime) -> ToolWrite:
    """Return the call that runs now, for the undo log."""
    context, state = runtime.context, runtime.state
    [reply] = state["messages"]
    calls = reply.tool_calls if isinstance(reply, AIMessage) else []
    tool = next((call["name"] for call in calls if call["id"] == runtime.tool_call_id), "")
    return ToolWrite(
        thread=context.thread,
        user=context.user,
        message=state["heard"]["id"],
        speaker=state.get("speaker", ""),
        tool=tool,
        call=runtime.tool_call_id or "",
    )


def both(first: TakenBack, second: TakenBack) -> TakenBack:
    """Return the outcomes of two changes together."""
    return {outcome: [*first.get(outcome, ()), *second.get(outcome, ())] for outcome in OUTCOMES}


def sentences(taken: TakenBack, lang: str) -> list[str]:
    """Return the outcomes of an undo, a sentence for each kind."""
    return [phrase(f"undo_{outcome}", lang, items="; ".join(items)) for outcome, items in taken.items() if items]


async def taken_back(runtime: Runtime, items: Items, changes: Changes) -> TakenBack:
    """Put items back as they were, unless they were changed since; the words for the user are read after the write."""
    items_before = await items.read(runtime, [*changes])
    stale: list[str] = []
    for key, (before, after) in changes.items():
        if items.same(items_before.get(key), before):
            continue
        if items.same(items_before.get(key), after):
            await items.write(runtime, key, before)
        else:
            stale.append(key)
    items_now = await items.read(runtime, [*changes])

    def worded(keys: Sequence[str], *, otherwise: int) -> list[str]:
        if runtime.context.is_shared and keys:
            return [phrase("undo_count", runtime.state["lang"], count=len(keys))]
        values = [items_now.get(key, changes[key][otherwise]) for key in keys]
        # The undo may have put the language itself back.
        return [items.worded(value, runtime.state["lang"]) for value in values if value is not None]

    put_back = [key for key in changes if key not in stale]
    return {
        "back": worded([key for key in put_back if changes[key][1] is None], otherwise=0),
        "gone": worded([key for key in put_back if changes[key][0] is None], otherwise=1),
        "changed": worded([key for key in put_back if None not in changes[key]], otherwise=0),
        "stale": worded(stale, otherwise=1),
    }


class FormValues(Items):
    """The fields of the form in the tool's state, by name; the caller of the undo stores the changes there."""

    name = "form"

    async def read(self, runtime: Runtime, keys: Sequence[str]) -> Mapping[str, Json]:
        """Return the fields that have a value."""
        form, speaker = runtime.state["form"], runtime.state.get("speaker", "")
        values = {key: field_value(speaker, key, form.get(key)) for key in keys}
        return {key: value for key, value in values.items() if value is not None}

    async def write(self, runtime: Runtime, key: str, value: Json | None) -> None:
        """Put a value back; a field without one is empty."""
        form = runtime.state["form"]
        empty: object = [] if isinstance(form.get(key), list) else None
        form[key] = value["value"] if value else empty

    def worded(self, value: Json, lang: str) -> str:
        """Return a field with its value."""
        label = field_label(value["speaker"], value["field"], lang)
        return phrase("undo_field", lang, label=label, value=value_in_words(value["value"]))


FORM = FormValues()


def field_value(speaker: str, field: str, value: object) -> Json | None:
    """Return a value of a form as it is entered in the undo log; None if the field is empty."""
    return {"speaker": speaker, "field": field, "value": value} if value not in (None, "", [], {}) else None


def form_changes(runtime: Runtime, filled: Mapping[str, object]) -> Changes:
    """Return the changes that these values make in the form of the tool's speaker."""
    form, speaker = runtime.state["form"], runtime.state.get("speaker", "")
    before = {name: field_value(speaker, name, form.get(name)) for name in filled}
    after = {name: field_value(speaker, name, value) for name, value in filled.items()}
    return {name: (before[name], after[name]) for name in filled if before[name] != after[name]}


class RememberedFacts(Items):
    """Facts in long-term memory; a key is "kind/name"."""

    name = "facts"

    async def read(self, runtime: Runtime, keys: Sequence[str]) -> Mapping[str, Json]:
        """Return the remembered facts."""
        facts = {key: await fact_of(runtime.store, runtime.context.user, key) for key in keys}
        return {key: fact for key, fact in facts.items() if fact is not None}

    async def write(self, runtime: Runtime, key: str, value: Json | None) -> None:
        """Put a fact back."""
        kind, _, name = key.partition("/")
        await _put(runtime, kind, name, value and value["fact"])

    def worded(self, value: Json, lang: str) -> str:
        """Return a fact behind its label."""
        facts = "; ".join(map(str, value["fact"].values()))
        return phrase("undo_field", lang, label=fact_label(value["name"], lang), value=facts)


FACTS = RememberedFacts()


async def fact_of(store: BaseStore | None, user: str, key: str) -> Json | None:
    """Return a fact as it is entered in the undo log; None if it is not remembered."""
    kind, _, name = key.partition("/")
    item = await store.aget(namespace_of(user, kind), name) if store is not None else None
    return {"name": name, "fact": item.value} if item else None


class UserSettings(Items):
    """Settings in long-term memory; their keys are "zone" and "language"."""

    name = "settings"

    async def read(self, runtime: Runtime, keys: Sequence[str]) -> Mapping[str, Json]:
        """Return the settings that are set."""
        items = await store_of(runtime).asearch(namespace_of(runtime.context.user, "settings"))
        return {item.key: item.value for item in items if item.key in keys}

    async def write(self, runtime: Runtime, key: str, value: Json | None) -> None:
        """Put a setting back; the conversation goes on in the language that it had."""
        await _put(runtime, "settings", key, _stored(value))
        if value and "lang" in value:
            runtime.state["lang"] = value["lang"]

    def same(self, item: Json | None, other: Json | None) -> bool:
        """Compare two settings; a setting that was not set equals no setting."""
        return _stored(item) == _stored(other)

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


async def _put(runtime: Runtime, kind: str, name: str, value: Json | None) -> None:
    """Keep an item in the user's long-term memory; None deletes it."""
    store, place = store_of(runtime), namespace_of(runtime.context.user, kind)
    await (store.adelete(place, name) if value is None else store.aput(place, name, value))
