"""Take back what a tool has written.

A tool that keeps things of the user says what kind of `Items` it writes, and enters each change before it makes it:

    @traits(effect="write", repeatable=True, undo=TODOS)
    @tool
    async def add_todo(text: str, runtime: Runtime) -> str:
        await entered(runtime, TODOS, {key: (None, todo)})
        ...

A tool that does something elsewhere names the function that takes it back:

    @traits(effect="write", key=("hotel",), undo=cancel_booking)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage

from agents.memory.undo_log import Changes, ToolWrite
from agents.toolkit.runtime import Runtime
from agents.toolkit.traits import Items
from prompts import phrase


async def entered(runtime: Runtime, items: Items, changes: Changes) -> None:
    """Enter what this call is about to change; call it before the change is made."""
    if runtime.context.undo is not None and changes:
        await runtime.context.undo.enter(write_of(runtime), items.name, changes)


async def begun(runtime: Runtime, items: Items) -> Mapping[str, tuple[Any, Any]]:
    """Return what an earlier try of this call was about to change before a crash."""
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


@dataclass(frozen=True)
class TakenBack:
    """What came of taking changes back, in words for the user, item by item."""

    back: Sequence[str] = ()
    """What was deleted and is there again."""
    gone: Sequence[str] = ()
    """What was added and is gone again."""
    changed: Sequence[str] = ()
    """What was changed and has its former value again."""
    stale: Sequence[str] = ()
    """What others have changed since; it stays as it is."""

    def after(self, earlier: "TakenBack") -> "TakenBack":
        """Return what came of this and of an earlier change."""
        return TakenBack(
            back=[*earlier.back, *self.back],
            gone=[*earlier.gone, *self.gone],
            changed=[*earlier.changed, *self.changed],
            stale=[*earlier.stale, *self.stale],
        )

    def lines(self, lang: str) -> list[str]:
        """Return the sentences for the user."""
        parts = {"back": self.back, "gone": self.gone, "changed": self.changed, "stale": self.stale}
        return [phrase(f"undo_{name}", lang, items="; ".join(words)) for name, words in parts.items() if words]


async def taken_back(runtime: Runtime, items: Items, changes: Changes) -> TakenBack:
    """Put items back as they were, unless they were changed since; what is told is read after the write."""
    now = await items.read(runtime, [*changes])
    stale = [
        key
        for key, (before, after) in changes.items()
        if not (items.same(now.get(key), after) or items.same(now.get(key), before))
    ]
    for key, (before, _) in changes.items():
        if key not in stale and not items.same(now.get(key), before):
            await items.write(runtime, key, before)
    there = await items.read(runtime, [*changes])

    def worded(keys: Sequence[str], *, otherwise: int) -> list[str]:
        if runtime.context.is_shared and keys:
            return [phrase("undo_count", runtime.state["lang"], count=len(keys))]
        values = [there.get(key, changes[key][otherwise]) for key in keys]
        # The language may be what was put back.
        return [items.worded(value, runtime.state["lang"]) for value in values if value is not None]

    done = [key for key in changes if key not in stale]
    return TakenBack(
        back=worded([key for key in done if changes[key][1] is None], otherwise=0),
        gone=worded([key for key in done if changes[key][0] is None], otherwise=1),
        changed=worded([key for key in done if None not in changes[key]], otherwise=0),
        stale=worded(stale, otherwise=1),
    )
