"""The node that carries out a speaker's tool calls, hand-overs included, and what tools see of the conversation."""

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import cast

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langchain_core.messages.tool import ToolCall
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from langgraph.types import Command
from pydantic_core import to_jsonable_python

from agents.conversation.changes import Move, Update, emit, put, sequence, show_stored
from agents.conversation.handover import HandoverCalls
from agents.conversation.scene import described
from agents.events.views import Notice, View
from agents.language.identifiers import Aliases
from agents.memory.store import namespace_of
from agents.nodes import ask
from agents.state import State, form_of, messages_of
from agents.state.message_notes import notes_of
from agents.state.talk import Json, Pending, TalkUpdate
from agents.toolkit.bound_tools import assistant_help, bound_tools, meant
from agents.toolkit.context import Context, ToolState
from agents.toolkit.questions.form import stored_fields
from agents.toolkit.questions.options import CONFIRM
from agents.toolkit.result import Question, ToolResult
from agents.toolkit.shelf import Shelf
from agents.toolkit.source_book import SourceBook
from agents.toolkit.speaker import Speaker, Speakers
from agents.toolkit.tool_node import tool_node
from agents.toolkit.traits import traits_of


class ToolCalls:
    """Run the tools of a speaker's last reply side by side, then the change of hands it asked for, if any."""

    def __init__(self, speaker: Speaker, speakers: Speakers, shelf: Shelf | None = None) -> None:
        self.speaker, self.speakers, self.handovers = speaker, speakers, HandoverCalls(speaker, speakers)
        offered = [*bound_tools(speaker, speakers, shelf), *(shelf.tools.values() if shelf else ())]
        self.tools = {tool.name: tool for tool in offered if tool.name not in self.handovers.names}
        self.node = tool_node(speaker, [*self.tools.values()])

    async def __call__(self, state: State, runtime: Runtime[Context]) -> Update:
        """Return the results of every call but those that wait for the user, and who holds the conversation now."""
        reply, most = self._reply(state), runtime.context.limits.calls_per_reply
        passes = [call for call in reply[:most] if call["name"] in self.handovers.names]
        calls = [meant(call) for call in reply[:most] if call["name"] not in self.handovers.names]
        update: Update = {"view": None}
        goto = ""
        if calls:
            update, goto = await self._run(calls, state, runtime.context)
        form = update.get("talks", {}).get(self.speaker.name, {}).get("form")
        if form:
            await remember_form(self.speaker, form, runtime.context, runtime.store)
        if update.get("pending"):
            # A question on the screen comes first; the model may pass the conversation on once it is answered.
            # The view of another tool is shown before it: the user may need it to answer.
            waits = [partial(self.handovers.answer, call, "waits") for call in passes]
            moves: list[Move] = [*waits, *show_stored(update["view"], self.speaker.name), ask.announce]
        elif goto:
            moves = [
                *(partial(self.handovers.answer, call, "refused") for call in passes),
                *self.handovers.handed_off(goto, state),
            ]
        else:
            moves = self.handovers.moves(passes, {**state, "view": update["view"]}, alone=not calls)
        surplus = [partial(self.handovers.answer, call, "surplus") for call in reply[most:]]
        total, events = sequence(state, put(update), *surplus, *moves)
        emit(runtime, events)
        return total

    def _reply(self, state: State) -> Sequence[ToolCall]:
        """Return the calls to carry out: those of the last reply, or the one that the user has just agreed to."""
        if agreed := state.get("agreed"):
            return [ToolCall(name=agreed["tool"], args=agreed["args"], id=agreed["call"], type="tool_call")]
        messages = state["talks"][self.speaker.name]["messages"]
        return next(message for message in reversed(messages) if isinstance(message, AIMessage)).tool_calls

    async def _run(self, calls: Sequence[ToolCall], state: State, context: Context) -> tuple[Update, str]:
        """Run ordinary tools; return what they change, and the speaker that one of them hands off to (else empty)."""
        agreed, citing = state.get("agreed"), [call["id"] or "" for call in calls if self._cites(call["name"])]
        visible = tool_state(self.speaker, self.speakers, state, calls, citing)
        form, aliases, sources = visible["form"], visible["aliases"], visible["sources"]
        results = await self.node.ainvoke(visible)
        pending = [*state.get("pending", [])]
        update: Update = {"view": None, "pending": pending, "agreed": None, "sources": sources.stored}
        answers: list[AnyMessage] = []
        goto = ""
        for result in results if isinstance(results, list) else [results]:
            change = changes_of(result)
            for message in change["messages"]:
                outcome: ToolResult = message.artifact
                if outcome.goto:
                    target = self.handovers.target(outcome.goto)
                    goto = goto or target
                    answers.append(self.handovers.handed_off_message(message, outcome.goto, target, state["lang"]))
                elif outcome.question is None:
                    update["view"] = _lasting(outcome.view)
                    # Under the id of the user's yes, which no speaker then hears once more as a message.
                    own = {"id": state["heard"]["id"]} if agreed else {}
                    answers.append(message.model_copy(update={"artifact": None, **own}))
                else:
                    call = next(call for call in calls if call["id"] == message.tool_call_id)
                    update["pending"].append(self._pending(call, outcome.question, agreed))
                if self._writes(message):
                    update["wrote"] = state.get("turn", 0)
                if self._reads(message, context):
                    update["foreign"] = True
            form |= change.get("form", {})
            if "lang" in change:
                update["lang"] = change["lang"]
        if aliases.by_kind:
            update["aliases"], update["labels"] = aliases.by_kind, aliases.labels
        talk: TalkUpdate = {"add": answers}
        if self.speaker.form:
            talk["form"] = form
        return {**update, "talks": {self.speaker.name: talk}}, goto

    def _cites(self, name: str) -> bool:
        return name in self.tools and traits_of(self.tools[name]).cited

    def _writes(self, message: ToolMessage) -> bool:
        tool, outcome = self.tools.get(message.name or ""), message.artifact
        return bool(tool and traits_of(tool).effect == "write" and message.status != "error" and not outcome.question)

    def _reads(self, message: ToolMessage, context: Context) -> bool:
        """Tell whether a result may hold text from outside: its tool's own, or what help said of its failure."""
        outcome: ToolResult = message.artifact
        tool = self.tools.get(message.name or "")
        has_run = outcome.question is None or outcome.question.kind != CONFIRM
        if tool is not None and has_run and traits_of(tool).is_foreign(context):
            return True
        return bool(notes_of(message).get("rescued")) and traits_of(assistant_help).is_foreign(context)

    def _pending(self, call: ToolCall, question: Question, agreed: Pending | None) -> Pending:
        traits = traits_of(self.tools[call["name"]])
        form = None if question.kind else traits.form
        return {
            "call": call["id"] or "",
            "speaker": self.speaker.name,
            "tool": call["name"],
            "args": call["args"],
            "kind": question.kind or traits.kind,
            "prompt": question.prompt,
            "options": to_jsonable_python([asdict(option) for option in question.options]),
            "url": question.url,
            "back": question.back,
            "web_app": question.web_app,
            **stored_fields(form),
            "filled": {},
            "skipped": [],
            "answers": agreed.get("answers", []) if agreed else [],
        }


def with_few_calls(message: AIMessage, most: int) -> AIMessage:
    """Return a reply without the calls that are too many; the first of those stays, and is answered with a refusal."""
    if len(message.tool_calls) <= most:
        return message
    return message.model_copy(update={"tool_calls": message.tool_calls[: most + 1]})


def changes_of(result: object) -> Json:
    """Return what a tool node's result changes: its messages, and the keys that a tool's `Command` updates."""
    changes = result.update if isinstance(result, Command) else result
    return cast(Json, changes or {})


def _lasting(view: View | None) -> Json | None:
    """Return a view as plain data if it can stand for the answer.

    A notice cannot: it was shown beside the answer. An empty view would leave the user without any answer.
    """
    if view is None or isinstance(view, Notice) or not (view.title.strip() or view.text().strip()):
        return None
    return view.body()


def tool_state(
    speaker: Speaker, speakers: Speakers, state: State, calls: Sequence[ToolCall] = (), cited: Sequence[str] = ()
) -> ToolState:
    """Return what the tools of these calls see; `cited` are the ids of the calls that give documents with numbers."""
    agreed, aliases = state.get("agreed"), Aliases(state.get("aliases"), state.get("labels"))
    return {
        "messages": [AIMessage("", tool_calls=[*calls])],
        "form": dict(form_of(state, speaker.name)),
        "lang": state["lang"],
        "heard": state["heard"],
        "aliases": aliases,
        "sources": SourceBook(state.get("sources"), state.get("turn", 0), cited),
        "talk": messages_of(state, speaker.name),
        "dialogs": {name: described(dialog, state["lang"]) for name, dialog in speakers.dialogs.items()},
        "labels": aliases.labels,
        "speaker": speaker.name,
        "foreign": state.get("foreign", False),
        "agreed": agreed["call"] if agreed else "",
        "answers": agreed.get("answers", []) if agreed else [],
        "declined": state.get("declined", []),
    }


async def remember_form(speaker: Speaker, form: Json, context: Context, store: BaseStore | None) -> None:
    """Keep a form in long-term memory if the dialog wants it; where others read along, it has only what was said."""
    if not speaker.remember or store is None:
        return
    place = namespace_of(context.user, "forms")
    item = await store.aget(place, speaker.name) if context.is_shared else None
    await store.aput(place, speaker.name, {**(item.value if item else {}), **form})
