"""The node that serves a plain request with a tool alone: "what time is it" costs no model call."""

import asyncio
from collections.abc import Mapping, Sequence

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.tool import ToolCall
from langchain_core.tools import BaseTool
from langgraph.runtime import Runtime
from langgraph.types import Command

from agents.context import Context
from agents.conversation.changes import Change, Move, Update, sequence
from agents.conversation.screen import show
from agents.events import Message
from agents.events.views import Notice, View
from agents.history import set_before
from agents.identifiers import Aliases
from agents.nodes import ask
from agents.retrievers.shortcuts import Shortcuts
from agents.speaker import Speaker, Speakers
from agents.state import SUPERVISOR, State, TalkUpdate
from agents.toolkit.handover_tools import entry_tool
from agents.toolkit.result import Outcome
from agents.toolkit.shelf import card_of
from agents.toolkit.tool_node import tool_node
from agents.toolkit.traits import traits_of


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
        """Return what was asked and answered, for the history of whoever holds the conversation.

        What is no answer for a user (a failure, data, a question) is for the model of that speaker to tell.
        """
        name, heard = state["shortcut"] or "", state["heard"]
        call = ToolCall(name=name, args={}, id=f"shortcut-{heard['id']}", type="tool_call")
        message, update = await self._run(call, state)
        outcome: Outcome = message.artifact
        holder = state.get("dialog") or SUPERVISOR
        view = None if isinstance(outcome.view, Notice) else outcome.view
        text = view.text() if view else message.text
        is_plain = view is not None or outcome.object is None or isinstance(outcome.object, str)
        is_answer = outcome.question is None and message.status != "error" and is_plain and bool(text.strip())
        # Who does not have the tool only learns what was said: providers may refuse calls of unknown tools.
        added: list[AnyMessage] = [HumanMessage(heard["text"] or "", id=heard["id"])]
        if outcome.question is not None:
            added = []
        elif self.owners[name].name == holder:
            added += [AIMessage("", tool_calls=[call]), message.model_copy(update={"artifact": None})]
        elif not is_answer:
            added.append(SystemMessage(message.text))
        # No prompt shows the note; it tells `local:rules` of what the list is, and that its own question is still open.
        exchange = [*added, AIMessage(text, additional_kwargs={"served": name})]
        moves = self._told(holder, view, text, exchange) if is_answer else self._passed_on(holder, added)
        whole, events = sequence(state, lambda _: (update, []), *moves)
        for event in events:
            runtime.stream_writer(event)
        return whole

    def _told(self, holder: str, view: View | None, text: str, exchange: Sequence[AnyMessage]) -> list[Move]:
        """Give the user the answer; a question that is open is put again, and can still be answered."""

        def remember(state: State) -> Change:
            messages = state.get("talks", {}).get(holder, {}).get("messages", [])
            waits = bool(state.get("pending"))
            talk: TalkUpdate = {"messages": set_before(messages, exchange)} if waits else {"add": [*exchange]}
            return {"talks": {holder: talk}}, []

        def say(state: State) -> Change:
            if view:
                return show(view, holder, state)
            return {"said": [{"speaker": holder, "text": text}]}, [Message(speaker=holder, text=text)]

        return [remember, say, lambda state: ask.announce(state) if state.get("pending") else ({}, [])]

    def _passed_on(self, holder: str, added: Sequence[AnyMessage]) -> list[Move]:
        """Leave the word to the model; it can say nothing before the calls that wait for the user are answered."""
        heard: Update = {"talks": {holder: {"add": [*added]}}, "listener": holder}
        return [ask.left, lambda _: (heard, [])]

    async def _run(self, call: ToolCall, state: State) -> tuple[ToolMessage, Update]:
        """Return the tool's answer, and what it changes beside."""
        owner, aliases = self.owners[call["name"]], Aliases(state.get("aliases"))
        sight = {
            "messages": [AIMessage("", tool_calls=[call])],
            "form": state.get("talks", {}).get(owner.name, {}).get("form") or {},
            "lang": state["lang"],
            "heard": state["heard"],
            "aliases": aliases,
        }
        found = await self.node.ainvoke(sight)
        [part] = found if isinstance(found, list) else [found]
        change = (part.update or {}) if isinstance(part, Command) else part
        update = {key: value for key, value in change.items() if key == "lang"}
        return change["messages"][0], {**update, **({"aliases": aliases.known} if aliases.known else {})}
