"""The user's to-dos, in long-term memory, on one list or on several that the user has named.

A to-do's number never changes, and its key comes from the call that made it: a call that is repeated after a crash
finds its work done and does nothing twice.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

from langchain_core.tools import tool
from pydantic import Field

from agents.language.text.vocabulary import listening, vocabulary
from agents.state.speaker_state import Json
from agents.toolkit import Answer, Runtime, result, traits
from agents.toolkit.result import Page
from agents.toolkit.undo import entered
from dialogs.planner.tools.kept_lists import Kept, Number, Numbers, StoredList, Text, asks, worded_as
from dialogs.planner.wording import said
from prompts import FALLBACK

ListName = Annotated[str, Field(max_length=40)]


class Todos(StoredList):
    """To-dos: each has a text, may be on a list with a name, and is done or not."""

    name = "todos"
    chosen_fields = ("number", "text", "done")

    def words(self, values: Json, lang: str, now: datetime | None = None) -> str:
        """Return the text of a to-do, its list if that has a name, and whether it is done."""
        marks = [*filter(None, [values.get("list")]), *[said("todo_done", lang)] * values["done"]]
        return f"{values['text']} ({', '.join(marks)})" if marks else str(values["text"])

    def compared(self, values: Json) -> tuple[object, ...]:
        """Return text, list and state of a to-do; the number may differ."""
        return values["text"], values.get("list"), values["done"]

    def on_list(self, kept: list[Kept], name: str) -> list[Kept] | None:
        """Return the to-dos on the list of this name, all of them without a name; None if that list has none."""
        named = [it for it in kept if name and _key(it.values.get("list") or "") == _key(name)]
        return named or None if name else kept


TODOS = Todos()


@traits(always=True, effect="write", repeatable=True, undo=TODOS)
@tool
async def add_todos(
    items: Annotated[list[Text], Field(min_length=1, max_length=50)],
    runtime: Runtime,
    list_name: ListName = "",
) -> str:
    """Note to-dos.

    items: each in the user's words.
    list_name: of a list that the user names ("shopping").
    """
    keys = await put_on_list(items, runtime, list_name)
    kept_before = [key for key in keys if not key.startswith(f"{runtime.tool_call_id}-")]
    lines = [it.line for it in await TODOS.entries(runtime) if it.key in kept_before]
    remark = said("todos_known", runtime.state["lang"], items="; ".join(lines)) if lines else ""
    return "\n".join(filter(None, [remark, await TODOS.listed(runtime, keys)]))


async def put_on_list(texts: Sequence[str], runtime: Runtime, list_name: str = "") -> Sequence[str]:
    """Put to-dos on the user's list, and enter them for undo; return their keys.

    A to-do that is on that list already and not done stays as it is.

    Raises:
        Refused: the list is full.
    """
    async with TODOS.held(runtime):
        entries = await TODOS.entries(runtime)
        there = TODOS.on_list(entries, list_name) or []
        name = there[0].values["list"] if list_name and there else list_name
        same_texts = {
            _key(it.values["text"]): it.key
            for it in there
            if it.values.get("list", "") == name
            and not it.values["done"]
            and not it.key.startswith(f"{runtime.tool_call_id}-")
        }
        new = [text for text in texts if _key(text) not in same_texts]
        place = {"list": name} if name else {}
        added = await TODOS.add(
            runtime, entries, [{**worded_as(text, runtime), **place, "done": False} for text in new]
        )
        return [*added, *(same_texts[_key(text)] for text in texts if _key(text) in same_texts)]


def _key(text: str) -> tuple[str, ...]:
    return vocabulary(listening(text, FALLBACK)).key(text)


@traits(always=True, view="cards", shortcut=True, private=True)
@tool(response_format="content_and_artifact")
async def list_todos(runtime: Runtime, page: Page = 1, list_name: ListName = "") -> Answer:
    """Show the to-dos with their numbers.

    page: from 1.
    list_name: only those of a list that the user names.
    """
    kept = TODOS.on_list(await TODOS.entries(runtime), list_name)
    if kept is None:
        none = said("todos_no_list", runtime.state["lang"], list=list_name)
        return result(message=f"{none}\n{await TODOS.listed(runtime)}")
    return await TODOS.shown(runtime, page, kept)


@traits(kind="selector", private=True)
@tool(response_format="content_and_artifact")
async def choose_todo(runtime: Runtime, numbers: list[Number] | None = None) -> Answer:
    """Let the user choose a to-do.

    numbers: of these; left out, of all.
    """
    return await TODOS.choice(runtime, numbers)


async def _change(args: Json, runtime: Runtime) -> str | None:
    return await TODOS.question_of_change(change_todo, args, runtime)


@traits(always=True, effect="write", repeatable=True, undo=TODOS, question=_change)
@tool
async def change_todo(number: Number, runtime: Runtime, text: Text | None = None, done: bool | None = None) -> str:
    """Change a to-do's text, or mark it done.

    number: as listed.
    text: the new one.
    done: whether it is.
    """
    async with TODOS.held(runtime):
        todo = next(iter(await TODOS.with_numbers(runtime, [number])), None)
        if todo is None:
            return await TODOS.no_such(runtime, [number])
        before = {name: old for name, old in todo.values.items() if text is None or name != "origin"}
        value = {**before, **(worded_as(text, runtime) if text else {}), **({} if done is None else {"done": done})}
        await entered(runtime, TODOS, {todo.key: (todo.values, value)})
        await TODOS.put(runtime, todo.key, value)
        return await TODOS.listed(runtime, [todo.key] if text else [])


@traits(always=True, effect="write", repeatable=True, undo=TODOS, confirm=asks, question=TODOS.question)
@tool
async def delete_todos(numbers: Numbers, runtime: Runtime) -> str:
    """Delete to-dos.

    numbers: as listed.
    """
    return await TODOS.delete(runtime, numbers)
