"""What the lists of to-dos and of reminders have in common: they are shown, chosen from, deleted and taken back."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from agents.state.talk import Json
from agents.toolkit import Answer, Entry, Option, Runtime, choice, result
from agents.toolkit.result import page_of
from agents.toolkit.runtime import present
from agents.toolkit.traits import Confirm, Items
from agents.toolkit.undo import begun, entered
from dialogs.planner.wording import said
from prompts import phrase

Text = Annotated[str, Field(min_length=1, max_length=500)]
When = Annotated[str, Field(min_length=1, max_length=200)]
Number = Annotated[int, Field(ge=1)]
Numbers = Annotated[list[Number], Field(min_length=1)]


@dataclass(frozen=True)
class Kept:
    """An entry of a list."""

    number: int
    """By which the user names it; it never changes."""
    key: str
    """By which undo finds it: the call that made it."""
    words: str
    """What the user is shown of it."""
    values: Mapping[str, Any]
    """What is kept of it, so that it can be put back."""

    @property
    def line(self) -> str:
        """The entry with its number."""
        return f"{self.number}. {self.words}"


class KeptList(Items, ABC):
    """A numbered list of the user's. Its `name` begins the keys of its sentences."""

    told: Sequence[str]
    """The values that a model is told of an entry that the user has chosen."""

    @abstractmethod
    async def stored(self, runtime: Runtime) -> Mapping[str, Mapping[str, Any]]:
        """Return the values of the entries, their `number` among them, by key."""

    @abstractmethod
    def words(self, values: Mapping[str, Any], lang: str, now: datetime | None = None) -> str:
        """Return what the user is shown of an entry; without `now` in words that do not change as time goes by."""

    @abstractmethod
    async def remove(self, runtime: Runtime, keys: Collection[str]) -> None:
        """Delete entries."""

    @abstractmethod
    def compared(self, values: Json) -> tuple[object, ...]:
        """Return what two entries in the same state have in common."""

    def same(self, one: Json | None, other: Json | None) -> bool:
        """See `Items`."""
        return one is other if one is None or other is None else self.compared(one) == self.compared(other)

    async def read(self, runtime: Runtime, keys: Sequence[str]) -> Mapping[str, Any]:
        """Return the values of those of the entries that there are."""
        return {key: values for key, values in (await self.stored(runtime)).items() if key in keys}

    def worded(self, value: Any, lang: str) -> str:
        """Return values in words, with the number."""
        return f"{value['number']}. {self.words(value, lang)}"

    async def entries(self, runtime: Runtime) -> list[Kept]:
        """Return the entries by number."""
        return self._kept(await self.stored(runtime), runtime)

    def _kept(self, stored: Mapping[str, Mapping[str, Any]], runtime: Runtime) -> list[Kept]:
        lang, now = runtime.state["lang"], present(runtime)
        entries = [Kept(it["number"], key, self.words(it, lang, now), it) for key, it in stored.items()]
        return sorted(entries, key=lambda it: it.number)

    def held(self, runtime: Runtime) -> AbstractAsyncContextManager[None]:
        """Hold the list: calls of one reply, and processes, write side by side and would give one number twice."""
        # No thread's name begins so: the turn holds its thread already.
        return runtime.context.locks.hold(f"\0{self.name} {runtime.context.user}")

    async def with_numbers(self, runtime: Runtime, numbers: Collection[int] | None) -> list[Kept]:
        """Return the entries with these numbers; all of them for None."""
        return [it for it in await self.entries(runtime) if numbers is None or it.number in numbers]

    async def shown(self, runtime: Runtime, page: int) -> Answer:
        """Show a page of the list."""
        lang = runtime.state["lang"]
        entries = [Entry(it.words, number=it.number) for it in await self.entries(runtime)]
        view = page_of(entries, page, lang)
        return result(message=view.text() if view else said(f"{self.name}_none", lang), view=view)

    async def choice(self, runtime: Runtime, numbers: Collection[int] | None) -> Answer:
        """Let the user choose an entry."""
        lang = runtime.state["lang"]
        options = [
            # With a date instead of "tomorrow": "see you tomorrow" must choose nothing.
            Option(self.words(it.values, lang), {name: it.values[name] for name in self.told}, id=str(it.number))
            for it in await self.with_numbers(runtime, numbers)
        ]
        return choice(said("which_entry", lang), options)

    async def question(self, args: Json, runtime: Runtime) -> str | None:
        """Word the question before a deletion; empty where others read along, None if nothing is deleted."""
        entries = await self.with_numbers(runtime, args["numbers"])
        if not entries:
            return None
        if runtime.context.is_shared:
            return ""
        lines = "; ".join(it.line for it in entries)
        return said(f"{self.name}_delete", runtime.state["lang"], count=len(entries), items=lines)

    async def delete(self, runtime: Runtime, numbers: Collection[int]) -> str:
        """Delete entries; return what was deleted and what is left."""
        lang = runtime.state["lang"]
        deleted = await self.taken_off(runtime, numbers)
        known = [it.number for it in deleted]
        if unknown := [number for number in dict.fromkeys(numbers) if number not in known]:
            return await self.no_such(runtime, unknown)
        lines = ", ".join(map(str, known)) if runtime.context.is_shared else "; ".join(it.line for it in deleted)
        return f"{phrase('deleted', lang, items=lines)}\n{await self.listed(runtime)}"

    async def taken_off(self, runtime: Runtime, numbers: Collection[int]) -> list[Kept]:
        """Delete entries so that they can be taken back; return them.

        What an earlier try of this call was about to delete is settled, whatever bears its number now.
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
        """Return the list in words; where others read along, the entries with these keys, which the user has named."""
        lang, is_shared = runtime.state["lang"], runtime.context.is_shared
        lines = [it.line for it in await self.entries(runtime) if not is_shared or it.key in named]
        if not lines and is_shared:
            return phrase("list_kept_private", lang)
        return "\n".join(lines) or said(f"{self.name}_none", lang)

    async def no_such(self, runtime: Runtime, numbers: Sequence[int]) -> str:
        """Say that there are no entries with these numbers, and which there are."""
        missing = ", ".join(map(str, numbers))
        return f"{said(f'{self.name}_unknown', runtime.state['lang'], numbers=missing)}\n{await self.listed(runtime)}"


def asks(args: Json) -> Confirm:
    """Ask before several entries are deleted; a single one comes back by "undo"."""
    return "always" if len(set(args["numbers"])) > 1 else "foreign"
