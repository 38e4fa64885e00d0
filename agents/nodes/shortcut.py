"""The node that serves a plain request with a tool alone: "what time is it" costs no model call."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from langchain_core.messages import AIMessage, AnyMessage, SystemMessage, ToolMessage
from langchain_core.messages.tool import ToolCall
from langgraph.runtime import Runtime

from agents.conversation.changes import Change, Move, Update, emit, put, say, sequence, show
from agents.conversation.heard import human
from agents.events.views import Notice, View
from agents.language.tool_ranker.ranker import Shortcuts
from agents.nodes import ask
from agents.nodes.tools import changes_of, tool_state
from agents.state import State, holder_of, messages_of
from agents.state.history import set_before
from agents.state.message_notes import notes
from agents.state.talk import TalkUpdate
from agents.toolkit.bound_tools import entry_tools
from agents.toolkit.context import Context
from agents.toolkit.result import ToolResult
from agents.toolkit.shelf import card_of
from agents.toolkit.speaker import Speaker, Speakers
from agents.toolkit.tool_node import tool_node
from agents.toolkit.traits import traits_of


class Serving:
    """Recognise requests that are clearly for one tool, and answer them with its result."""

    def __init__(self, speakers: Speakers, *, direct: bool = True) -> None:
        self.speakers = speakers
        owned = [(speaker, tool) for speaker in speakers for tool in speaker.tools]
        marked = {tool.name: (speaker, tool) for speaker, tool in owned if traits_of(tool).shortcut}
        self.owners: Mapping[str, Speaker] = {name: speaker for name, (speaker, _) in marked.items()}
        self.node = tool_node(speakers.supervisor, [tool for _, tool in marked.values()])
        entries = [replace(card_of(tool), shortcut=direct) for tool in entry_tools(speakers)]
        self.shortcuts = Shortcuts([*(card_of(tool) for _, tool in owned), *entries])
        self.entry_of = _entries(speakers) if direct else {}

    async def recognise(self, text: str) -> str | None:
        """Return the tool that a text clearly asks for; None when that is not clear.

        It is a shortcut, or the tool by which the supervisor hands over to the dialog that the text is for.
        """
        tool = self.shortcuts.by_any_example(text) or ""
        if tool in self.owners or tool in self.entry_of:
            return self.entry_of.get(tool, tool)
        if not self.shortcuts.may_be_meant(text):
            return None
        # The first call trains the ranker, which must not hold up other conversations.
        return await asyncio.to_thread(self.shortcuts.meant, text)

    async def __call__(self, state: State, runtime: Runtime[Context]) -> Update:
        """Run the tool; return what was asked and answered, for the history of the speaker that leads.

        A failure, data or a question is no answer for a user: it is left to that speaker's model.
        """
        name, heard, holder = state["shortcut"] or "", state["heard"], holder_of(state)
        call = ToolCall(name=name, args={}, id=f"shortcut-{heard['id']}", type="tool_call")
        message, update = await self._run(call, state, runtime.context)
        outcome: ToolResult = message.artifact
        view = None if isinstance(outcome.view, Notice) else outcome.view
        text = view.text() if view else message.text
        exchange: list[AnyMessage] = [human(heard, state["lang"])]
        if outcome.question is not None:
            exchange = []
        elif self.owners[name].name == holder:
            exchange += [AIMessage("", tool_calls=[call]), message.model_copy(update={"artifact": None})]
        elif not _is_answer(message, view):
            # A speaker without the tool is only told the result: providers may refuse calls of unknown tools.
            exchange.append(SystemMessage(message.text))
        if _is_answer(message, view):
            # The note says that this answer is a tool's, and that the speaker's own question is still open.
            exchange.append(AIMessage(text, additional_kwargs=notes(served=name)))
            moves: list[Move] = [partial(_remember, exchange), partial(_answer, text, view), ask.announce_open]
        else:
            # The model can say nothing before the calls that wait for the user have results.
            moves = [ask.left, put({"talks": {holder: {"add": exchange}}, "listener": holder})]
        total, events = sequence(state, put(update), *moves)
        emit(runtime, events)
        return total

    async def _run(self, call: ToolCall, state: State, context: Context) -> tuple[ToolMessage, Update]:
        """Return the tool's result, and what else it changes."""
        visible = tool_state(self.owners[call["name"]], self.speakers, state, [call])
        aliases = visible["aliases"]
        results = await self.node.ainvoke(visible)
        [result] = results if isinstance(results, list) else [results]
        changes = changes_of(result)
        update: Update = {"lang": changes["lang"]} if "lang" in changes else {}
        traits = traits_of(self.node.tools_by_name[call["name"]])
        if traits.effect == "write":
            update["wrote"] = state["turn"]
        if traits.is_foreign(context):
            update["foreign"] = True
        if aliases.by_kind:
            update["aliases"], update["labels"] = aliases.by_kind, aliases.labels
        return changes["messages"][0], update


def _entries(speakers: Speakers) -> dict[str, str]:
    """Return the dialogs' entry tools by what leads to them: they themselves, and tools that one dialog alone has.

    A tool that is a shortcut needs no dialog.
    """
    owners = [(tool.name, speaker.tool) for speaker in speakers for tool in speaker.tools]
    alone = {name for name, count in Counter(name for name, _ in owners).items() if count == 1}
    marked = {tool.name for speaker in speakers for tool in speaker.tools if traits_of(tool).shortcut}
    theirs = {name: entry for name, entry in owners if entry and name in alone - marked}
    return {**theirs, **{dialog.tool: dialog.tool for dialog in speakers.dialogs.values()}}


def _is_answer(message: ToolMessage, view: View | None) -> bool:
    outcome: ToolResult = message.artifact
    if outcome.question is not None or message.status == "error":
        return False
    if view is not None:
        return bool(view.text().strip())
    return (outcome.object is None or isinstance(outcome.object, str)) and bool(message.text.strip())


def _remember(exchange: Sequence[AnyMessage], state: State) -> Change:
    """Write the exchange down; before the calls that wait for the user, so that they can still be answered."""
    holder = holder_of(state)
    talk: TalkUpdate = {"add": [*exchange]}
    if state.get("pending"):
        talk = {"messages": set_before(messages_of(state, holder), exchange)}
    return {"talks": {holder: talk}}, []


def _answer(text: str, view: View | None, state: State) -> Change:
    return show(view, holder_of(state), state) if view else say(holder_of(state), text)
