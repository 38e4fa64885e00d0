"""The user's to-dos, in long-term memory.

A to-do's number never changes, and its key comes from the call that made it: a call that is repeated after a crash
finds its work done and does nothing twice.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any

from langchain_core.tools import tool
from langgraph.store.base import BaseStore
from pydantic import Field

from agents.memory.store import namespace_of
from agents.state.talk import Json
from agents.toolkit import Answer, Refused, Runtime, traits
from agents.toolkit.result import Page
from agents.toolkit.undo import entered
from dialogs.planner.agenda import MOST_TODOS, stored_todos
from dialogs.planner.tools.kept_lists import KeptList, Number, Numbers, Text, asks
from dialogs.planner.wording import said


class Todos(KeptList):
    """To-dos: each has a text and is done or not."""

    name = "todos"
    told = ("number", "text", "done")

    async def stored(self, runtime: Runtime) -> Mapping[str, Mapping[str, Any]]:
        """Return the to-dos by key."""
        return {item.key: item.value for item in await stored_todos(_store(runtime), runtime.context.user)}

    def words(self, values: Mapping[str, Any], lang: str, now: datetime | None = None) -> str:
        """Return the text of a to-do, and whether it is done."""
        done = f" ({said('todo_done', lang)})" if values["done"] else ""
        return f"{values['text']}{done}"

    async def remove(self, runtime: Runtime, keys: Collection[str]) -> None:
        """Delete to-dos."""
        for key in keys:
            await _store(runtime).adelete(_place(runtime), key)

    async def write(self, runtime: Runtime, key: str, value: Any) -> None:
        """Put a to-do back; under another number if its own is taken."""
        async with self.held(runtime):
            if value is None:
                await self.remove(runtime, [key])
                return
            numbers = {it.number for it in await self.entries(runtime) if it.key != key}
            number = max(numbers) + 1 if value["number"] in numbers else value["number"]
            await self.put(runtime, key, {**value, "number": number})

    async def put(self, runtime: Runtime, key: str, value: dict[str, Any]) -> None:
        """Store a to-do."""
        await _store(runtime).aput(_place(runtime), key, value)

    def compared(self, values: Json) -> tuple[object, ...]:
        """Return what a to-do says; the number may differ."""
        return values["text"], values["done"]


TODOS = Todos()


@traits(effect="write", repeatable=True, undo=TODOS)
@tool
async def add_todos(items: Annotated[list[Text], Field(min_length=1, max_length=50)], runtime: Runtime) -> str:
    """Note to-dos, each in the user's words."""
    keys = await put_on_list(items, runtime)
    return await TODOS.listed(runtime, keys)


async def put_on_list(texts: Sequence[str], runtime: Runtime) -> Sequence[str]:
    """Put to-dos on the user's list, so that they can be taken back; return their keys.

    Raises:
        Refused: the list is full.
    """
    async with TODOS.held(runtime):
        entries = await TODOS.entries(runtime)
        known = {it.key for it in entries}
        keys = [f"{runtime.tool_call_id}-{place}" for place in range(len(texts))]
        if len(known | {*keys}) > MOST_TODOS:
            raise Refused(said("todos_full", runtime.state["lang"], most=MOST_TODOS))
        number = max((it.number for it in entries), default=0)
        new = [(key, text) for key, text in zip(keys, texts, strict=True) if key not in known]
        values = {
            key: {"number": place, "text": text, "done": False} for place, (key, text) in enumerate(new, number + 1)
        }
        await entered(runtime, TODOS, {key: (None, value) for key, value in values.items()})
        for key, value in values.items():
            await TODOS.put(runtime, key, value)
        return keys


@traits(view="cards", shortcut=True, private=True)
@tool(response_format="content_and_artifact")
async def list_todos(runtime: Runtime, page: Page = 1) -> Answer:
    """Show the to-dos with their numbers."""
    return await TODOS.shown(runtime, page)


@traits(kind="selector", private=True)
@tool(response_format="content_and_artifact")
async def choose_todo(runtime: Runtime, numbers: list[Number] | None = None) -> Answer:
    """Let the user choose a to-do, of these numbers or of all."""
    return await TODOS.choice(runtime, numbers)


@traits(effect="write", repeatable=True, undo=TODOS)
@tool
async def change_todo(number: Number, runtime: Runtime, text: Text | None = None, done: bool | None = None) -> str:
    """Change a to-do's text, or mark it done. number: as listed."""
    async with TODOS.held(runtime):
        todo = next(iter(await TODOS.with_numbers(runtime, [number])), None)
        if todo is None:
            return await TODOS.no_such(runtime, [number])
        changes = {"text": text, "done": done}
        value = {**todo.values, **{name: new for name, new in changes.items() if new is not None}}
        await entered(runtime, TODOS, {todo.key: (todo.values, value)})
        await TODOS.put(runtime, todo.key, value)
        return await TODOS.listed(runtime, [todo.key] if text else [])


@traits(effect="write", repeatable=True, undo=TODOS, confirm=asks, question=TODOS.question)
@tool
async def delete_todos(numbers: Numbers, runtime: Runtime) -> str:
    """Delete to-dos. numbers: as listed."""
    return await TODOS.delete(runtime, numbers)


def _store(runtime: Runtime) -> BaseStore:
    assert runtime.store is not None  # the graph is always compiled with a store
    return runtime.store


def _place(runtime: Runtime) -> tuple[str, ...]:
    return namespace_of(runtime.context.user, "todos")
