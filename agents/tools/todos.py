"""The user's to-dos, in long-term memory.

A to-do's number never changes, and its key comes from the call that made it: a call that is repeated after
a crash finds its work done and does nothing twice.
"""

from collections.abc import Collection
from contextlib import AbstractAsyncContextManager
from typing import Annotated

from langchain_core.tools import tool
from langgraph.store.base import BaseStore, Item
from pydantic import Field

from agents.memory.store import namespace_of
from agents.toolkit import Answer, Entry, Option, Runtime, choice, result, traits
from agents.tools.paging import Page, page_of
from prompts import phrase

Text = Annotated[str, Field(min_length=1, max_length=500)]
Number = Annotated[int, Field(ge=1)]
MOST = 200
"""To-dos a user may keep."""


@traits(effect="write", repeatable=True)
@tool
async def add_todos(items: Annotated[list[Text], Field(min_length=1, max_length=50)], runtime: Runtime) -> str:
    """Put to-dos on the user's list. items: each to-do in the user's words, one entry each."""
    async with _alone(runtime):
        stored = {item.key: item for item in await _stored(runtime)}
        keys = [f"{runtime.tool_call_id}-{place}" for place in range(len(items))]
        if len(stored.keys() | keys) > MOST:
            return phrase("todos_full", runtime.state["lang"], most=MOST)
        highest = max((item.value["number"] for item in stored.values()), default=0)
        for key, text in zip(keys, items, strict=True):
            if key not in stored:
                highest += 1
                value = {"number": highest, "text": text, "done": False}
                await _store(runtime).aput(_place(runtime), key, value)
        return await _listed(runtime, keys)


@traits(view="cards", shortcut=True, private=True)
@tool(response_format="content_and_artifact")
async def list_todos(runtime: Runtime, page: Page = 1) -> Answer:
    """Show the user's to-dos with their numbers, 50 a page."""
    entries = [Entry(_worded(item, runtime), number=item.value["number"]) for item in await _stored(runtime)]
    view = page_of(entries, page, runtime.state["lang"])
    return result(message=view.text() if view and view.title else await _listed(runtime), view=view)


@traits(kind="selector", private=True)
@tool(response_format="content_and_artifact")
async def choose_todo(runtime: Runtime, numbers: list[Number] | None = None) -> Answer:
    """Let the user choose one of their to-dos, when it is unclear which. numbers: those in question; else all."""
    items = [item for item in await _stored(runtime) if numbers is None or item.value["number"] in numbers]
    options = [Option(_worded(item, runtime), _plain(item), id=str(item.value["number"])) for item in items]
    return choice(phrase("which_todo", runtime.state["lang"]), options)


@traits(effect="write", repeatable=True)
@tool
async def change_todo(number: Number, runtime: Runtime, text: Text | None = None, done: bool | None = None) -> str:
    """Change a to-do: its text, or whether it is done. number: as in the list."""
    async with _alone(runtime):
        item = await _numbered(number, runtime)
        if item is None:
            return await _no_such([number], runtime)
        changes = {"text": text, "done": done}
        value = {**item.value, **{name: new for name, new in changes.items() if new is not None}}
        await _store(runtime).aput(_place(runtime), item.key, value)
        return await _listed(runtime, [item.key] if text else [])


@traits(effect="write", repeatable=True)
@tool
async def delete_todos(numbers: Annotated[list[Number], Field(min_length=1)], runtime: Runtime) -> str:
    """Delete to-dos. numbers: as in the list."""
    gone = []
    async with _alone(runtime):
        for number in numbers:
            item = await _numbered(number, runtime)
            if item is None:
                gone.append(number)
            else:
                await _store(runtime).adelete(_place(runtime), item.key)
        return await _no_such(gone, runtime) if gone else await _listed(runtime)


def _alone(runtime: Runtime) -> AbstractAsyncContextManager[None]:
    """Hold the list: calls of one reply, and processes, write side by side and would give one number twice."""
    # No thread's name begins so: the turn holds its thread already.
    return runtime.context.locks.hold(f"\0todos {runtime.context.user}")


async def _stored(runtime: Runtime) -> list[Item]:
    items = await _store(runtime).asearch(_place(runtime), limit=MOST)
    return sorted(items, key=lambda item: int(item.value["number"]))


async def _numbered(number: int, runtime: Runtime) -> Item | None:
    return next((item for item in await _stored(runtime) if item.value["number"] == number), None)


async def _listed(runtime: Runtime, named: Collection[str] = ()) -> str:
    """Return the list in words; where others read along, the to-dos with these keys, which the user has just named."""
    items, lang = await _stored(runtime), runtime.state["lang"]
    is_shared = runtime.context.is_shared
    shown = [item for item in items if item.key in named] if is_shared else items
    lines = [f"{item.value['number']}. {_worded(item, runtime)}" for item in shown]
    return "\n".join(lines) or phrase("list_kept_private" if is_shared else "todos_none", lang)


def _worded(item: Item, runtime: Runtime) -> str:
    done = phrase("todo_done", runtime.state["lang"])
    return f"{item.value['text']}{f' ({done})' if item.value['done'] else ''}"


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
