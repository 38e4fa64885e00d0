"""The user's to-dos, in long-term memory.

A to-do's number never changes, and its key comes from the call that made it: a call that is repeated after
a crash finds its work done and does nothing twice.
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Annotated, Any

from langchain_core.tools import tool
from langgraph.store.base import BaseStore, Item
from pydantic import Field

from agents.agenda import MOST_TODOS
from agents.memory.store import namespace_of
from agents.state.talk import Json
from agents.toolkit import Answer, Entry, Option, Refused, Runtime, choice, result, traits
from agents.toolkit.paging import Page, page_of
from agents.toolkit.traits import Confirm
from agents.toolkit.undo import begun, entered
from prompts import phrase

Text = Annotated[str, Field(min_length=1, max_length=500)]
Number = Annotated[int, Field(ge=1)]


class Todos:
    """To-dos as they are taken back."""

    name = "todos"

    async def read(self, runtime: Runtime, keys: Sequence[str]) -> Mapping[str, Any]:
        """Return those that are on the list."""
        return {item.key: item.value for item in await _stored(runtime) if item.key in keys}

    async def write(self, runtime: Runtime, key: str, value: Any) -> None:
        """Put one back; under another number if its own is taken."""
        async with _alone(runtime):
            if value is None:
                await _store(runtime).adelete(_place(runtime), key)
                return
            numbers = {item.value["number"] for item in await _stored(runtime) if item.key != key}
            number = max(numbers) + 1 if value["number"] in numbers else value["number"]
            await _store(runtime).aput(_place(runtime), key, {**value, "number": number})

    def same(self, one: Any, other: Any) -> bool:
        """Compare what a to-do says; its number is not its own."""
        return _compared(one) == _compared(other)

    def worded(self, value: Any, lang: str) -> str:
        """Return a to-do with its number."""
        return _numbered_line(value, lang)


TODOS = Todos()


def asks(args: Json) -> Confirm:
    """Ask before several are deleted; a single one comes back by "undo"."""
    return "always" if len(set(args["numbers"])) > 1 else "foreign"


async def deletion(args: Json, runtime: Runtime) -> str | None:
    """Word the question before to-dos are deleted; empty where others read along, None if there is none."""
    items = [item for item in await _stored(runtime) if item.value["number"] in args["numbers"]]
    lines = "; ".join(_numbered_line(item.value, runtime.state["lang"]) for item in items)
    if items and runtime.context.is_shared:
        return ""
    return phrase("todos_delete", runtime.state["lang"], count=len(items), items=lines) if items else None


@traits(effect="write", repeatable=True, undo=TODOS)
@tool
async def add_todos(items: Annotated[list[Text], Field(min_length=1, max_length=50)], runtime: Runtime) -> str:
    """Note to-dos, each in the user's words."""
    keys = await put_on_list(items, runtime)
    return await _listed(runtime, keys)


async def put_on_list(items: Sequence[str], runtime: Runtime) -> Sequence[str]:
    """Put to-dos on the user's list, so that they can be taken back; return their keys.

    Raises:
        Refused: the list is full.
    """
    async with _alone(runtime):
        stored = {item.key: item for item in await _stored(runtime)}
        keys = [f"{runtime.tool_call_id}-{place}" for place in range(len(items))]
        if len(stored.keys() | keys) > MOST_TODOS:
            raise Refused(phrase("todos_full", runtime.state["lang"], most=MOST_TODOS))
        highest = max((item.value["number"] for item in stored.values()), default=0)
        new = [(key, text) for key, text in zip(keys, items, strict=True) if key not in stored]
        values = {
            key: {"number": number, "text": text, "done": False} for number, (key, text) in enumerate(new, highest + 1)
        }
        await entered(runtime, TODOS, {key: (None, value) for key, value in values.items()})
        for key, value in values.items():
            await _store(runtime).aput(_place(runtime), key, value)
        return keys


@traits(view="cards", shortcut=True, private=True)
@tool(response_format="content_and_artifact")
async def list_todos(runtime: Runtime, page: Page = 1) -> Answer:
    """Show the to-dos with their numbers."""
    entries = [Entry(_worded(item, runtime), number=item.value["number"]) for item in await _stored(runtime)]
    view = page_of(entries, page, runtime.state["lang"])
    return result(message=view.text() if view and view.title else await _listed(runtime), view=view)


@traits(kind="selector", private=True)
@tool(response_format="content_and_artifact")
async def choose_todo(runtime: Runtime, numbers: list[Number] | None = None) -> Answer:
    """Let the user choose a to-do, of these numbers or of all."""
    items = [item for item in await _stored(runtime) if numbers is None or item.value["number"] in numbers]
    options = [Option(_worded(item, runtime), _plain(item), id=str(item.value["number"])) for item in items]
    return choice(phrase("which_todo", runtime.state["lang"]), options)


@traits(effect="write", repeatable=True, undo=TODOS)
@tool
async def change_todo(number: Number, runtime: Runtime, text: Text | None = None, done: bool | None = None) -> str:
    """Change a to-do's text, or mark it done. number: as listed."""
    async with _alone(runtime):
        item = await _numbered(number, runtime)
        if item is None:
            return await _no_such([number], runtime)
        changes = {"text": text, "done": done}
        value = {**item.value, **{name: new for name, new in changes.items() if new is not None}}
        await entered(runtime, TODOS, {item.key: (item.value, value)})
        await _store(runtime).aput(_place(runtime), item.key, value)
        return await _listed(runtime, [item.key] if text else [])


@traits(effect="write", repeatable=True, undo=TODOS, confirm=asks, question=deletion)
@tool
async def delete_todos(numbers: Annotated[list[Number], Field(min_length=1)], runtime: Runtime) -> str:
    """Delete to-dos. numbers: as listed."""
    lang = runtime.state["lang"]
    async with _alone(runtime):
        # What an earlier try of this call has deleted was on the list when it began.
        before = [value for value, _ in (await begun(runtime, TODOS)).values()]
        items = [item for item in await _stored(runtime) if item.value["number"] in numbers]
        await entered(runtime, TODOS, {item.key: (item.value, None) for item in items})
        for item in items:
            await _store(runtime).adelete(_place(runtime), item.key)
        deleted = {value["number"]: value for value in [*before, *(item.value for item in items)]}
        if unknown := [number for number in dict.fromkeys(numbers) if number not in deleted]:
            return await _no_such(unknown, runtime)
        lines = ", ".join(map(str, sorted(deleted)))
        if not runtime.context.is_shared:
            lines = "; ".join(_numbered_line(value, lang) for _, value in sorted(deleted.items()))
        return f"{phrase('deleted', lang, items=lines)}\n{await _listed(runtime)}"


def _alone(runtime: Runtime) -> AbstractAsyncContextManager[None]:
    """Hold the list: calls of one reply, and processes, write side by side and would give one number twice."""
    # No thread's name begins so: the turn holds its thread already.
    return runtime.context.locks.hold(f"\0todos {runtime.context.user}")


async def _stored(runtime: Runtime) -> list[Item]:
    items = await _store(runtime).asearch(_place(runtime), limit=MOST_TODOS)
    return sorted(items, key=lambda item: int(item.value["number"]))


async def _numbered(number: int, runtime: Runtime) -> Item | None:
    return next((item for item in await _stored(runtime) if item.value["number"] == number), None)


async def _listed(runtime: Runtime, named: Collection[str] = ()) -> str:
    """Return the list in words; where others read along, the to-dos with these keys, which the user has just named."""
    items, lang = await _stored(runtime), runtime.state["lang"]
    is_shared = runtime.context.is_shared
    shown = [item for item in items if item.key in named] if is_shared else items
    lines = [_numbered_line(item.value, lang) for item in shown]
    return "\n".join(lines) or phrase("list_kept_private" if is_shared else "todos_none", lang)


def _worded(item: Item, runtime: Runtime) -> str:
    return _text(item.value, runtime.state["lang"])


def _text(value: Mapping[str, Any], lang: str) -> str:
    done = f" ({phrase('todo_done', lang)})" if value["done"] else ""
    return f"{value['text']}{done}"


def _numbered_line(value: Mapping[str, Any], lang: str) -> str:
    return f"{value['number']}. {_text(value, lang)}"


def _compared(value: Mapping[str, Any] | None) -> tuple[str, bool] | None:
    return None if value is None else (value["text"], value["done"])


def _plain(item: Item) -> dict[str, object]:
    return {name: item.value[name] for name in ("number", "text", "done")}


async def _no_such(numbers: list[int], runtime: Runtime) -> str:
    missing = ", ".join(map(str, numbers))
    return f"{phrase('todo_unknown', runtime.state['lang'], numbers=missing)}\n{await _listed(runtime)}"


def _store(runtime: Runtime) -> BaseStore:
    assert runtime.store is not None  # the graph is always compiled with a store
    return runtime.store


def _place(runtime: Runtime) -> tuple[str, ...]:
    return namespace_of(runtime.context.user, "todos")
