"""The common part of the lists of to-dos, notes and reminders: showing, choices, deletions and undo."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from langchain_core.tools import BaseTool
from langgraph.store.base import PutOp
from pydantic import Field

from agents.language.text.stems import stems, words
from agents.language.text.vocabulary import listening, small_words
from agents.memory.store import NUMBERS, namespace_of
from agents.state.speaker_state import Json
from agents.toolkit import Answer, Entry, Option, Refused, Runtime, choice, result
from agents.toolkit.confirmation import MOST_SHOWN, may_be_others, more, worded
from agents.toolkit.context import present, store_of, tells_of_others
from agents.toolkit.result import page_of
from agents.toolkit.traits import Confirm, Items
from agents.toolkit.undo import begun, entered
from dialogs.planner.agenda import MOST_TODOS, stored_todos
from dialogs.planner.records import OTHERS
from dialogs.planner.wording import said
from prompts import phrase

LONGEST_LINE = 80
"""The most characters of an entry in a question about several."""
Text = Annotated[str, Field(min_length=1, max_length=500)]
When = Annotated[str, Field(min_length=1, max_length=200)]
Number = Annotated[int, Field(ge=1)]
Numbers = Annotated[list[Number], Field(min_length=1)]


@dataclass(frozen=True, eq=False)
class Kept:
    """An entry of a list."""

    number: int
    """The user's number for the entry; it never changes."""
    key: str
    """The entry's key for undo: the id of the call that made it."""
    words: str
    """The entry's text for the user."""
    values: Json
    """The entry's stored values, for undo."""

    @property
    def line(self) -> str:
        """The entry with its number."""
        return f"{self.number}. {self.words}"


class KeptList(Items, ABC):
    """A numbered list of the user's. Its `name` begins the keys of its sentences."""

    chosen_fields: Sequence[str]
    """The values of a chosen entry that a model gets."""

    @abstractmethod
    async def stored(self, runtime: Runtime) -> Mapping[str, Json]:
        """Return the values of the entries, including their `number`, by key."""

    @abstractmethod
    def words(self, values: Json, lang: str, now: datetime | None = None) -> str:
        """Return an entry's text for the user; without `now` in words that do not change with time."""

    @abstractmethod
    async def remove(self, runtime: Runtime, keys: Collection[str]) -> None:
        """Delete entries."""

    @abstractmethod
    def compared(self, values: Json) -> tuple[object, ...]:
        """Return the values that are equal for two entries in the same state."""

    def same(self, item: Json | None, other: Json | None) -> bool:
        """See `Items`."""
        return item is other if item is None or other is None else self.compared(item) == self.compared(other)

    async def read(self, runtime: Runtime, keys: Sequence[str]) -> Mapping[str, Json]:
        """Return the values of the existing entries with these keys."""
        return {key: values for key, values in (await self.stored(runtime)).items() if key in keys}

    def worded(self, value: Json, lang: str) -> str:
        """Return values in words, with the number."""
        return f"{value['number']}. {self.words(value, lang)}"

    def remembered(self, value: Json, lang: str) -> str:
        """Return values in words without the number."""
        return self.words(value, lang)

    async def entries(self, runtime: Runtime) -> list[Kept]:
        """Return the entries by number."""
        return self._kept(await self.stored(runtime), runtime)

    def _kept(self, stored: Mapping[str, Json], runtime: Runtime) -> list[Kept]:
        lang, now = runtime.state["lang"], present(runtime)
        entries = [Kept(it["number"], key, self.words(it, lang, now), it) for key, it in stored.items()]
        return sorted(entries, key=lambda it: it.number)

    def held(self, runtime: Runtime) -> AbstractAsyncContextManager[None]:
        """Hold the list: calls of one reply, and processes, write side by side and would give one number twice."""
        # No thread's name begins like this: the turn holds its thread already.
        return runtime.context.locks.hold(f"\0{self.name} {runtime.context.user}")

    async def with_numbers(self, runtime: Runtime, numbers: Collection[int] | None) -> list[Kept]:
        """Return the entries with these numbers; all of them for None."""
        return [it for it in await self.entries(runtime) if numbers is None or it.number in numbers]

    async def shown(self, runtime: Runtime, page: int, kept: Sequence[Kept] | None = None) -> Answer:
        """Show a page of the list, or of some of its entries."""
        lang = runtime.state["lang"]
        shown = await self.entries(runtime) if kept is None else kept
        entries = [Entry(it.words, number=it.number) for it in shown]
        view = page_of(entries, page, lang)
        told(shown, runtime)
        return result(message=view.text() if view else said(f"{self.name}_none", lang), view=view)

    async def choice(self, runtime: Runtime, numbers: Collection[int] | None) -> Answer:
        """Let the user choose an entry."""
        lang, offered = runtime.state["lang"], await self.with_numbers(runtime, numbers)
        told(offered, runtime)
        options = [
            # The option has a date instead of "tomorrow": "see you tomorrow" must choose nothing.
            Option(
                self.words(it.values, lang), {name: it.values[name] for name in self.chosen_fields}, id=str(it.number)
            )
            for it in offered
        ]
        return choice(said("which_entry", lang), options)

    async def question(self, args: Json, runtime: Runtime) -> str | None:
        """Word the question before a deletion; empty where others read along, None if nothing is left to delete."""
        lines = await self._stable_lines(args["numbers"], runtime)
        if not lines or await begun(runtime, self):
            return None
        if runtime.context.is_shared:
            return ""
        items = "; ".join([*(cut(line) for line in lines[:MOST_SHOWN]), *more(lines)])
        return said(f"{self.name}_delete", runtime.state["lang"], count=len(lines), items=items)

    async def question_of_change(self, tool: BaseTool, args: Json, runtime: Runtime) -> str | None:
        """Word the question before a change of the entry with this `number`; empty or None as for `question`."""
        number = args.get("number")
        lines = await self._stable_lines([number] if number else [], runtime)
        if runtime.context.is_shared or not number:
            return ""
        changes = {name: value for name, value in args.items() if name != "number"}
        return worded(tool, {"entry": cut(lines[0]), **changes}, runtime.state) if lines else None

    async def _stable_lines(self, numbers: Collection[int], runtime: Runtime) -> list[str]:
        """Return entries in words that stay until the entries change, so that a question about them stays the same."""
        lang = runtime.state["lang"]
        return [f"{it.number}. {self.words(it.values, lang)}" for it in await self.with_numbers(runtime, numbers)]

    async def delete(self, runtime: Runtime, numbers: Collection[int]) -> str:
        """Delete entries; return a sentence on them, and the remaining list."""
        lang = runtime.state["lang"]
        deleted = await self.taken_off(runtime, numbers)
        told(deleted, runtime)
        removed = [it.number for it in deleted]
        if unknown := [number for number in dict.fromkeys(numbers) if number not in removed]:
            return await self.no_such(runtime, unknown)
        lines = ", ".join(map(str, removed)) if runtime.context.is_shared else "; ".join(it.line for it in deleted)
        return f"{phrase('deleted', lang, items=lines)}\n{await self.listed(runtime)}"

    async def taken_off(self, runtime: Runtime, numbers: Collection[int]) -> list[Kept]:
        """Delete entries, and enter them for undo; return them.

        An earlier try of this call has settled the entries to delete, also if other entries have their numbers now.
        """
        async with self.held(runtime):
            before = {key: values for key, (values, _) in (await begun(runtime, self)).items()}
            stored = await self.stored(runtime)
            chosen = {
                key: values
                for key, values in stored.items()
                if (key in before if before else values["number"] in numbers)
            }
            await entered(runtime, self, {key: (values, None) for key, values in chosen.items()})
            await self.remove(runtime, [*chosen])
        return self._kept({**before, **chosen}, runtime)

    async def listed(self, runtime: Runtime, named: Collection[str] = ()) -> str:
        """Return the list in words; where others read along, only the entries with these keys, which the user named."""
        lang, is_shared = runtime.state["lang"], runtime.context.is_shared
        shown = [it for it in await self.entries(runtime) if not is_shared or it.key in named]
        told(shown, runtime)
        lines = [it.line for it in shown]
        if not lines and is_shared:
            return phrase("list_kept_private", lang)
        return "\n".join(lines) or said(f"{self.name}_none", lang)

    async def no_such(self, runtime: Runtime, numbers: Sequence[int]) -> str:
        """Return the sentence that there are no entries with these numbers, and the list."""
        missing = ", ".join(map(str, numbers))
        return f"{said(f'{self.name}_unknown', runtime.state['lang'], numbers=missing)}\n{await self.listed(runtime)}"


class StoredList(KeptList):
    """A list in the long-term store, whose entries have a number and a text."""

    async def stored(self, runtime: Runtime) -> Mapping[str, Json]:
        """Return the entries by key."""
        items = await stored_todos(store_of(runtime), runtime.context.user, self.name)
        return {item.key: item.value for item in items}

    async def remove(self, runtime: Runtime, keys: Collection[str]) -> None:
        """Delete entries."""
        for key in keys:
            await store_of(runtime).adelete(self._place(runtime), key)

    async def write(self, runtime: Runtime, key: str, value: Json | None) -> None:
        """Put an entry back, or take it away."""
        async with self.held(runtime):
            await (self.put(runtime, key, value) if value is not None else self.remove(runtime, [key]))

    async def put(self, runtime: Runtime, key: str, value: Json) -> None:
        """Store an entry."""
        await store_of(runtime).aput(self._place(runtime), key, value)

    async def add(self, runtime: Runtime, entries: Sequence[Kept], new: Sequence[Json]) -> Sequence[str]:
        """Add entries, for which undo is possible; return the keys. The caller holds the list.

        Raises:
            Refused: the list is full.
        """
        added_before = {it.key for it in entries}
        keys = [f"{runtime.tool_call_id}-{place}" for place in range(len(new))]
        if len(added_before | {*keys}) > MOST_TODOS:
            raise Refused(said("todos_full", runtime.state["lang"], most=MOST_TODOS))
        missing = [(key, values) for key, values in zip(keys, new, strict=True) if key not in added_before]
        # A used number is not given again: the user may still mean its former entry.
        numbers = namespace_of(runtime.context.user, NUMBERS)
        counted = await store_of(runtime).aget(numbers, self.name)
        last = max((it.number for it in entries), default=0) if counted is None else int(counted.value["last"])
        numbered = {key: {"number": number, **values} for number, (key, values) in enumerate(missing, last + 1)}
        await entered(runtime, self, {key: (None, value) for key, value in numbered.items()})
        # All in one write: a process that ends in between must neither waste a number nor give it twice.
        count, place = PutOp(numbers, self.name, {"last": last + len(numbered)}), self._place(runtime)
        await store_of(runtime).abatch([count, *(PutOp(place, key, value) for key, value in numbered.items())])
        return keys

    def _place(self, runtime: Runtime) -> tuple[str, ...]:
        return namespace_of(runtime.context.user, self.name)


def cut(line: str) -> str:
    """Return an entry, cut for a list of several."""
    return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}… (+{len(line) - LONGEST_LINE})"


def told(kept: Iterable[Kept], runtime: Runtime) -> None:
    """Note that the model reads entries, if others may have written one of them."""
    if any(it.values.get("origin") == OTHERS for it in kept):
        tells_of_others(runtime)


def origin_of(text: str, runtime: Runtime) -> str:
    """Return the origin of a text that a call stores: `OTHERS`, or empty for the user's own words."""
    return OTHERS if may_be_others(text, runtime.state) else ""


def worded_as(text: str, runtime: Runtime) -> Json:
    """Return a text as values of an entry, with its origin unless it is the user's own."""
    return {"text": text, "origin": OTHERS} if origin_of(text, runtime) else {"text": text}


def asks(args: Json) -> Confirm:
    """Ask before the deletion of several entries; a single one comes back by "undo"."""
    return "always" if len(set(args["numbers"])) > 1 else "foreign"


def closest(texts: Mapping[Kept, str], about: str, lang: str) -> list[Kept]:
    """Return the entries whose texts share the most words with what a user asks about; all if that names nothing."""
    sought = _telling(about, lang)
    # In a language without blanks the single characters find an entry, too.
    shared = {it: len(sought & (_telling(text, lang) | {*words(text, 1)})) for it, text in texts.items()}
    most = max(shared.values(), default=0)
    return [it for it in shared if not sought or (most and shared[it] == most)]


def _telling(text: str, lang: str) -> set[str]:
    lang = listening(text, lang)
    return {*stems(text, lang)} - small_words(lang)
