"""The node that serves a plain request with a tool alone: "what time is it" costs no model call."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from langchain_core.messages import AIMessage, AnyMessage, SystemMessage, ToolMessage
from langchain_core.messages.tool import ToolCall
from langgraph.runtime import Runtime

from agents.conversation.changes import Change, Update
from agents.conversation.prompt import human
from agents.events.views import Notice, View
from agents.language.tool_ranker.ranker import Card, Shortcuts
from agents.nodes import ask
from agents.nodes.tools import changes_of, note_effects, tool_state
from agents.state import State, holder_of, messages_of
from agents.state.history import set_before
from agents.state.message_notes import Seen, notes, with_notes
from agents.toolkit.call import AroundToolCall
from agents.toolkit.context import Context
from agents.toolkit.handover_tools import entry_of
from agents.toolkit.result import ToolResult
from agents.toolkit.speaker import Speaker, Speakers
from agents.toolkit.tool_node import tool_node
from agents.toolkit.tool_search import card_of
from agents.toolkit.traits import traits_of
from prompts import edition


class ShortcutNode:
    """Recognise requests that are clearly for one tool, and answer them with its result."""

    def __init__(self, speakers: Speakers, hooks: Sequence[AroundToolCall] = (), *, direct: bool = True) -> None:
        """With `direct` a text may lead to a dialog, too."""
        self.speakers = speakers
        everyone: list[Speaker] = [*speakers, *speakers.absent.values()]
        owned = [(speaker, tool) for speaker in everyone for tool in speaker.tools]
        present = [(speaker, tool) for speaker, tool in owned if speaker.name not in speakers.absent]
        marked = {tool.name: (speaker, tool) for speaker, tool in present if traits_of(tool).shortcut}
        self.owners: Mapping[str, Speaker] = {name: speaker for name, (speaker, _) in marked.items()}
        self.node = tool_node(speakers.supervisor, [tool for _, tool in marked.values()], hooks=hooks)
        self._direct = direct
        self.made: dict[object, Shortcuts] = {}
        """By the edition of the texts."""
        # A tool that one dialog alone has leads to this dialog; one that is a shortcut needs no dialog.
        owners_count = Counter(tool.name for _, tool in owned)
        leading = [(speaker, tool.name) for speaker, tool in owned if owners_count[tool.name] == 1]
        entry_by_tool = {name: speaker.tool for speaker, name in leading if speaker.tool and name not in marked}
        entry_by_tool |= {dialog.tool: dialog.tool for dialog in everyone if dialog.tool}
        self.entry_by_tool: Mapping[str, str] = entry_by_tool if direct else {}

    @property
    def shortcuts(self) -> Shortcuts:
        """The recogniser of plain requests; a process that plays no turn needs none."""
        if edition() not in self.made:
            self.made = {edition(): Shortcuts(cards_of_all(self.speakers, direct=self._direct))}
        return self.made[edition()]

    async def recognise(self, text: str) -> str | None:
        """Return the tool that a text clearly asks for; None when that is not clear.

        It is a shortcut, or the tool by which the supervisor hands over to the right dialog for the text.
        """
        tool = self.shortcuts.by_any_example(text) or self.shortcuts.by_slip(text) or ""
        if tool in self.owners or tool in self.entry_by_tool:
            return self.entry_by_tool.get(tool, tool)
        if not self.shortcuts.may_be_meant(text):
            return None
        # The first call trains the ranker, which must not hold up other conversations.
        return await asyncio.to_thread(self.shortcuts.meant, text)

    async def __call__(self, state: State, runtime: Runtime[Context]) -> Update:
        """Run the tool; return the request and the answer, for the history of the speaker that leads.

        A failure, data or a question does not answer a user: it is left to that speaker's model.
        """
        name, holder = state["shortcut"] or "", holder_of(state)
        call = ToolCall(name=name, args={}, id=f"shortcut-{state['heard']['id']}", type="tool_call")
        change = Change(state)
        message = await self._run(change, call, runtime.context)
        outcome: ToolResult = message.artifact
        view = None if isinstance(outcome.view, Notice) else outcome.view
        is_answer = _is_answer(message, view)
        exchange = self._exchange(state, call, message, is_answer=is_answer)
        if is_answer:
            _answer(change, name, exchange, view, message.text)
        else:
            # The model can say nothing before the calls that wait for the user have results.
            ask.left(change)
            change.add(holder, *exchange)
            change.put(listener=holder)
        return change.emit(runtime)

    def _exchange(self, state: State, call: ToolCall, message: ToolMessage, *, is_answer: bool) -> list[AnyMessage]:
        """Return the request and the tool's result, for the history of the speaker that leads."""
        outcome: ToolResult = message.artifact
        request = human(state["heard"], state["lang"])
        if outcome.question is not None:
            return []
        if self.owners[call["name"]].name == holder_of(state):
            audience: Seen = "shown" if is_answer else "nobody"
            answer = with_notes(message.model_copy(update={"artifact": None}), seen=audience)
            return [request, AIMessage("", tool_calls=[call]), answer]
        # A speaker without the tool only gets the result: providers may refuse calls of unknown tools.
        return [request] if is_answer else [request, SystemMessage(message.text)]

    async def _run(self, change: Change, call: ToolCall, context: Context) -> ToolMessage:
        """Return the tool's result; take over its other changes of the state."""
        visible = tool_state(self.owners[call["name"]], self.speakers, change.state, [call])
        # The calls that wait for a yes belong to an earlier message: this one repeats none of them.
        visible["talk"] = [*visible["talk"], human(change.state["heard"], change.state["lang"])]
        [changes] = changes_of(await self.node.ainvoke(visible))
        message: ToolMessage = changes["messages"][0]
        if "lang" in changes:
            change.put(lang=changes["lang"])
        if (aliases := visible["aliases"]).by_kind:
            change.put(aliases=aliases.by_kind, labels=aliases.labels)
        traits = traits_of(self.node.tools_by_name[call["name"]])
        note_effects(change, message, traits, context, self.owners[call["name"]].name)
        return message


def cards_of_all(speakers: Speakers, *, direct: bool) -> list[Card]:
    """Return the cards of all tools; with `direct` those by which the supervisor hands over may be meant, too."""
    everyone = [*speakers, *speakers.absent.values()]
    entries = [replace(card_of(entry_of(dialog)), shortcut=direct) for dialog in everyone if dialog.tool]
    return [*(card_of(tool) for speaker in everyone for tool in speaker.tools), *entries]


def _answer(change: Change, name: str, exchange: Sequence[AnyMessage], view: View | None, words: str) -> None:
    """Give the user the result of a tool, as its view or in words, and keep the exchange."""
    holder = holder_of(change.state)
    if view:
        change.put(views=[{"call": "", "body": view.body(), "writes": False, "answers": True}])
        words = change.show_views(holder)
    else:
        change.say(holder, words)
    # The note says that this answer is a tool's, and that the speaker's own question is still open.
    exchange = [*exchange, AIMessage(words, additional_kwargs=notes(served=name))]
    if change.state.get("pending"):
        # Before the calls that wait for the user, so that they can still be answered.
        change.talk(holder, messages=set_before(messages_of(change.state, holder), exchange))
    else:
        change.add(holder, *exchange)
    ask.announce(change)


def _is_answer(message: ToolMessage, view: View | None) -> bool:
    outcome: ToolResult = message.artifact
    if outcome.question is not None or message.status == "error":
        return False
    if view is not None:
        return bool(view.text().strip())
    return (outcome.object is None or isinstance(outcome.object, str)) and bool(message.text.strip())
