"""Tools that tell, correct and delete facts from earlier conversations."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Annotated

from langchain_core.tools import tool
from langgraph.store.base import BaseStore
from pydantic import Field

from agents.language.schedule.wording import worded_instant
from agents.state.speaker_state import Json
from agents.toolkit import Refused, Runtime, traits
from agents.toolkit.context import Context
from agents.toolkit.traits import Items
from agents.toolkit.undo import begun, entered
from dialogs.recall.settings import RecallSettings
from dialogs.recall.store import ITEMS, LONGEST_ENTRY, SUMMARY, KeptEntry, Recall, owner_of
from prompts import sentence

MOST_LISTED, MOST_TOLD, LONGEST_TOLD = 40, 5, 400
"""The most listed entries, the most entries in the supervisor's prompt, and the most characters of these together."""
Number = Annotated[int, Field(ge=1)]
said = partial(sentence, "recall/phrases")


def owner(context: Context) -> str:
    """Return the owner of a turn's memory."""
    return owner_of(context.thread, context.user, is_shared=context.is_shared)


def lines_of(entries: Sequence[KeptEntry], lang: str) -> list[str]:
    """Return entries in words, each with its number, its time and, if it is a model's, a mark of that."""
    now, lines = datetime.now(UTC), list[str]()
    for entry in entries[-MOST_LISTED:]:
        when = worded_instant(datetime.fromtimestamp(entry.at_ms / 1000, UTC).astimezone(), lang, now)
        text = said("by_model", lang, text=entry.text) if entry.kind == SUMMARY else entry.text
        lines.append(f"{entry.number}. {text} ({when})")
    return lines


async def user_lines(context: Context, store: BaseStore, lang: str) -> Sequence[str]:
    """Return the latest facts of other threads for the supervisor, without a model's summaries."""
    recall = context.services.find(Recall)
    entries = await recall.of(owner(context)) if recall else []
    elsewhere = [entry for entry in entries if entry.kind != SUMMARY and entry.thread != context.thread]
    items = "; ".join(entry.text for entry in elsewhere[-MOST_TOLD:])[:LONGEST_TOLD]
    return [said("told", lang, items=items)] if items else []


class Entries(Items):
    """Entries for the undo log, by number."""

    name = ITEMS

    async def read(self, runtime: Runtime, keys: Sequence[str]) -> Mapping[str, Json]:
        """Return the existing entries that are the user's own."""
        context = runtime.context
        entries = await context.service(Recall).of(owner(context))
        own = {str(entry.number): entry for entry in entries if entry.user == context.user}
        return {key: {"number": own[key].number, "text": own[key].text} for key in keys if key in own}

    async def write(self, runtime: Runtime, key: str, value: Json | None) -> None:
        """Give an entry its text, or delete it."""
        await runtime.context.service(Recall).save(owner(runtime.context), {int(key): value["text"] if value else ""})

    def worded(self, value: Json, lang: str) -> str:
        """Return an entry with its number."""
        return f"{value['number']}. {value['text']}"

    async def change(self, runtime: Runtime, numbers: Sequence[int], text: str) -> str:
        """Give entries a text, or delete them, and enter the change for undo. Raises Refused if one does not exist."""
        keys, lang = [*map(str, numbers)], runtime.state["lang"]
        before = {key: value for key, (value, _) in (await begun(runtime, self)).items()}
        before = before or {**await self.read(runtime, keys)}
        if missing := [key for key in keys if key not in before]:
            raise Refused(said("unknown", lang, numbers=", ".join(missing)))
        after = {key: {**value, "text": text} if text else None for key, value in before.items()}
        await entered(runtime, self, {key: (value, after[key]) for key, value in before.items()})
        for key, value in after.items():
            await self.write(runtime, key, value)
        items = "; ".join(self.worded(after[key] or value, lang) for key, value in before.items())
        return said("corrected" if text else "deleted", lang, items=items)


ENTRIES = Entries()


def _has_summaries(context: Context) -> bool:
    return bool(context.service(RecallSettings).memory_model)


@traits(always=True, volatile=True, foreign=_has_summaries)
@tool
async def search_memory(runtime: Runtime, about: Annotated[str, Field(max_length=200)] = "") -> str:
    """Tell what earlier conversations with the user have found out.

    about: what it is about ("the flat"); left out, all.
    """
    recall, lang, place = runtime.context.service(Recall), runtime.state["lang"], owner(runtime.context)
    entries = await recall.search(place, about, lang) if about else await recall.of(place)
    if not entries:
        return said("none_about" if about else "none", lang, about=about)
    return "\n".join([said("kept", lang), *lines_of(entries, lang)])


@traits(always=True, effect="write", repeatable=True, undo=ENTRIES)
@tool
async def correct_memory(
    number: Number, text: Annotated[str, Field(min_length=1, max_length=LONGEST_ENTRY)], runtime: Runtime
) -> str:
    """Correct an entry of memory.

    number: as listed.
    text: what is right.
    """
    return await ENTRIES.change(runtime, [number], text)


async def _question(args: Json, runtime: Runtime) -> str | None:
    entries = await ENTRIES.read(runtime, [*map(str, args["numbers"])])
    items = "; ".join(ENTRIES.worded(value, "") for value in entries.values())
    return said("delete", runtime.state["lang"], items=items) if items else None


@traits(always=True, effect="write", repeatable=True, undo=ENTRIES, confirm="always", question=_question)
@tool
async def delete_memory(numbers: Annotated[list[Number], Field(min_length=1)], runtime: Runtime) -> str:
    """Delete entries of memory.

    numbers: as listed.
    """
    return await ENTRIES.change(runtime, numbers, "")
