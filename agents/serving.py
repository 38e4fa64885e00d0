"""The node that serves a plain request with a tool alone: "what time is it" costs no model call."""

import asyncio
from collections.abc import Mapping
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.messages.tool import ToolCall
from langchain_core.tools import BaseTool
from langgraph.runtime import Runtime

from agents.aliases import Aliases
from agents.events import Event, Message
from agents.handover import Update
from agents.retrievers.shortcuts import Shortcuts
from agents.screen import on_screen
from agents.shelf import card_of
from agents.speaker import Speaker, Speakers
from agents.state import SUPERVISOR, Context, State
from agents.tools.outcome import Outcome
from agents.tools.protocol import entry_tool
from agents.tools.running import tool_node
from agents.tools.traits import traits_of
from agents.views import Notice, View


class Serving:
    """Recognise requests that are plainly for one tool, and give the user what it gives."""

    def __init__(self, speakers: Speakers) -> None:
        owners = [(one, tool) for one in (speakers.supervisor, *speakers.dialogs.values()) for tool in one.tools]
        marked = {tool.name: (one, tool) for one, tool in owners if traits_of(tool).shortcut}
        self.owners: Mapping[str, Speaker] = {name: one for name, (one, _) in marked.items()}
        self.node = tool_node(speakers.supervisor, [tool for _, tool in marked.values()])
        entries: list[BaseTool] = [entry_tool(dialog.tool, dialog.description) for dialog in speakers.dialogs.values()]
        self.shortcuts = Shortcuts([card_of(tool) for tool in [*(tool for _, tool in owners), *entries]])

    async def recognise(self, text: str) -> str | None:
        """Return the tool that a text is surely for; None when that is not sure."""
        if (tool := self.shortcuts.said(text)) or not self.shortcuts.may_be_meant(text):
            return tool
        # The first time the ranker is trained, which must not hold up other conversations.
        return await asyncio.to_thread(self.shortcuts.meant, text)

    async def __call__(self, state: State, runtime: Runtime[Context]) -> Update:
        """Return what was asked and answered, for the history of whoever holds the conversation."""
        name, heard = state["shortcut"] or "", state["heard"]
        call = ToolCall(name=name, args={}, id=f"shortcut-{heard['id']}", type="tool_call")
        message = await self._run(call, state)
        outcome: Outcome = message.artifact
        view = None if isinstance(outcome.view, Notice) else outcome.view
        text = view.text() if view else message.text
        holder = state.get("dialog") or SUPERVISOR
        events: list[Event] = [view] if view else []
        for event in [*events, Message(speaker=holder, text=text, shown=view is not None)]:
            runtime.stream_writer(event)
        # Who does not have the tool only learns what was said: providers may refuse calls of unknown tools.
        called = [AIMessage("", tool_calls=[call]), message.model_copy(update={"artifact": None})]
        is_own = self.owners[name].name == holder
        asked = HumanMessage(heard["text"] or "", id=heard["id"])
        added: list[AnyMessage] = [asked, *(called if is_own else []), AIMessage(text)]
        said = [{"speaker": holder, "text": text}]
        return {"talks": {holder: {"add": added}}, "said": said, **_on_screen(view, state)}

    async def _run(self, call: ToolCall, state: State) -> Any:
        owner = self.owners[call["name"]]
        sight = {
            "messages": [AIMessage("", tool_calls=[call])],
            "form": state.get("talks", {}).get(owner.name, {}).get("form") or {},
            "lang": state["lang"],
            "heard": state["heard"],
            "aliases": Aliases(state.get("aliases")),
        }
        return (await self.node.ainvoke(sight))["messages"][0]


def _on_screen(view: View | None, state: State) -> Update:
    return {"screen": on_screen(state, view.title, view.numbered())} if view else {}
