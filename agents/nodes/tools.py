"""The node that runs the tools that a speaker called, hand-overs included."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import cast

from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.messages.tool import ToolCall
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from langgraph.types import Command
from pydantic_core import to_jsonable_python

from agents.conversation import handover
from agents.conversation.changes import Change, Update
from agents.conversation.handover import HandoverCalls
from agents.conversation.scene import described
from agents.events.views import Notice, View
from agents.language.identifiers import Aliases
from agents.memory.store import namespace_of
from agents.nodes import ask
from agents.state import State, form_of, messages_of, talk_of
from agents.state.message_notes import notes_of
from agents.state.talk import Json, Pending
from agents.toolkit.call import goes_in_circles
from agents.toolkit.confirmation import mark_of
from agents.toolkit.context import Context, ToolState
from agents.toolkit.questions.form import stored_fields
from agents.toolkit.questions.options import CONFIRM
from agents.toolkit.result import Question, ToolResult, taken
from agents.toolkit.shelf import Shelf, assistant_help, bound_tools, meant
from agents.toolkit.source_book import SourceBook
from agents.toolkit.speaker import Speaker, Speakers
from agents.toolkit.tool_node import tool_node
from agents.toolkit.traits import Traits, traits_of
from prompts import phrase


class ToolCalls:
    """Run the tools of a speaker's last reply side by side, then the change of hands it asked for, if any."""

    def __init__(self, speaker: Speaker, speakers: Speakers, shelf: Shelf | None) -> None:
        self.speaker, self.speakers, self.handovers = speaker, speakers, HandoverCalls(speaker, speakers)
        offered = [*bound_tools(speaker, speakers, shelf), *(shelf.tools.values() if shelf else ())]
        self.tools = {tool.name: tool for tool in offered if tool.name not in self.handovers.names}
        self.node = tool_node(speaker, [*self.tools.values()])

    async def __call__(self, state: State, runtime: Runtime[Context]) -> Update:
        """Return the results of every call but those that wait for the user, and who holds the conversation now."""
        covered = self._covered(state)
        reply, most = [*self._reply(state), *map(_call, covered)], runtime.context.limits.calls_per_reply
        passes = [call for call in reply[:most] if call["name"] in self.handovers.names]
        calls = [meant(call) for call in reply[:most] if call["name"] not in self.handovers.names]
        change = Change(state)
        change.put(view=None)
        if covered:
            change.put(pending=[pending for pending in state["pending"] if pending not in covered])
        goto = await self._run(change, calls, runtime) if calls else ""
        self.handovers.answer(change, reply[most:], "surplus")
        if calls and change.state.get("pending"):
            # A question on the screen comes first; the model may pass the conversation on once it is answered.
            # The view of another tool is shown before it: the user may need it to answer.
            self.handovers.answer(change, passes, "waits")
            change.show_stored(self.speaker.name)
            ask.announce(change)
        elif goto:
            self.handovers.answer(change, passes, "refused")
            self.handovers.hand_off(change, goto)
        else:
            self.handovers.carry_out(change, passes, alone=not calls)
        talk = messages_of(change.state, self.speaker.name)
        if not change.state.get("pending") and goes_in_circles(talk, state["heard"]["id"]):
            self._end_round(change)
        return change.emit(runtime)

    def _end_round(self, change: Change) -> None:
        """Speak to the user in place of a model that only repeats what was refused."""
        name, before = self.speaker.name, talk_of(change.state, self.speaker.name).get("failed", 0)
        if not handover.count_failure(change, self.speaker, before):
            text = phrase("in_circles", change.state["lang"])
            change.show_stored(name)
            change.say(name, text)
            change.add(name, AIMessage(text))

    def _reply(self, state: State) -> Sequence[ToolCall]:
        """Return the calls to carry out: those of the last reply, or the one that the user has just agreed to."""
        if agreed := state.get("agreed"):
            return [_call(agreed)]
        messages = state["talks"][self.speaker.name]["messages"]
        return next(message for message in reversed(messages) if isinstance(message, AIMessage)).tool_calls

    def _covered(self, state: State) -> list[Pending]:
        """Return the calls that wait for the same yes as the one that the user has just agreed to."""
        waiting, allowed = state.get("pending", []) if state.get("agreed") else [], state.get("allowed", [])
        own = [it for it in waiting if it["speaker"] == self.speaker.name and it["kind"] == CONFIRM]
        return [it for it in own if mark_of(self._traits(it["tool"]), it["tool"], it["args"]) in allowed]

    async def _run(self, change: Change, calls: Sequence[ToolCall], runtime: Runtime[Context]) -> str:
        """Run ordinary tools, and write down what they change; return the speaker that one hands off to, or ""."""
        state, context = change.state, runtime.context
        citing = [call["id"] or "" for call in calls if self._traits(call["name"]).cited]
        visible = tool_state(self.speaker, self.speakers, state, calls, citing)
        form, aliases, sources = visible["form"], visible["aliases"], visible["sources"]
        goto = ""
        for written in changes_of(await self.node.ainvoke(visible)):
            for message in written["messages"]:
                target = self._take(change, message, calls, context)
                goto = goto or target
            form |= written.get("form", {})
            if "lang" in written:
                change.put(lang=written["lang"])
        change.put(agreed=None, sources=sources.stored)
        if aliases.by_kind:
            change.put(aliases=aliases.by_kind, labels=aliases.labels)
        if self.speaker.form:
            change.talk(self.speaker.name, form=form)
            if form:
                await remember_form(self.speaker, form, context, runtime.store)
        return goto

    def _take(self, change: Change, message: ToolMessage, calls: Sequence[ToolCall], context: Context) -> str:
        """Write down the result of one call; return the speaker that it hands off to, or ""."""
        state, name, target = change.state, self.speaker.name, ""
        outcome: ToolResult = message.artifact
        agreed = state.get("agreed")
        if outcome.goto:
            answer, target = self.handovers.handed_off(message, outcome.goto, state["lang"])
            change.add(name, answer)
        elif outcome.question is None:
            change.put(view=_lasting(outcome.view))
            # Under the id of the user's yes, which no speaker then hears once more as a message.
            own = {"id": state["heard"]["id"]} if agreed and agreed["call"] == message.tool_call_id else {}
            change.add(name, message.model_copy(update={"artifact": None, **own}))
        else:
            call = next(call for call in calls if call["id"] == message.tool_call_id)
            pending = self._pending(call, outcome.question, agreed, state["lang"])
            change.put(pending=[*state.get("pending", []), pending])
        note_effects(change, message, self._traits(message.name or ""), context)
        return target

    def _traits(self, name: str) -> Traits:
        return traits_of(self.tools[name]) if name in self.tools else Traits()

    def _pending(self, call: ToolCall, question: Question, agreed: Pending | None, lang: str) -> Pending:
        traits = self._traits(call["name"])
        return {
            "call": call["id"] or "",
            "speaker": self.speaker.name,
            "tool": call["name"],
            "args": call["args"],
            "kind": question.kind or traits.kind,
            "prompt": question.prompt,
            "lang": lang,
            "options": to_jsonable_python([{**asdict(option), "value": taken(option)} for option in question.options]),
            "url": question.url,
            "back": question.back,
            "web_app": question.web_app,
            **stored_fields(None if question.kind else traits.form),
            "filled": {},
            "skipped": [],
            "answers": agreed.get("answers", []) if agreed else [],
        }


def _call(pending: Pending) -> ToolCall:
    return ToolCall(name=pending["tool"], args=pending["args"], id=pending["call"], type="tool_call")


def changes_of(results: object) -> list[Json]:
    """Return what a tool node's results change: their messages, and the keys that a tool's `Command` updates."""
    parts = results if isinstance(results, list) else [results]
    return [cast(Json, (part.update if isinstance(part, Command) else part) or {}) for part in parts]


def _lasting(view: View | None) -> Json | None:
    # A notice was shown beside the answer; an empty view would leave the user without any answer.
    if view is None or isinstance(view, Notice) or not (view.title.strip() or view.text().strip()):
        return None
    return view.body()


def note_effects(change: Change, message: ToolMessage, traits: Traits, context: Context) -> None:
    """Note in the state whether a call has written something, and whether it has brought text from outside."""
    outcome: ToolResult = message.artifact
    question = outcome.question
    if traits.effect == "write" and message.status != "error" and question is None:
        change.put(wrote=change.state.get("turn", 0))
    has_run = question is None or question.kind != CONFIRM
    # What help said of a failure may be text from outside as well.
    is_rescued = notes_of(message).get("rescued") and traits_of(assistant_help).is_foreign(context)
    if is_rescued or (has_run and traits.is_foreign(context)):
        change.put(foreign=True)


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
        "sources": SourceBook(state.get("sources"), turn := state.get("turn", 0), state.get("spoke", turn), cited),
        "talk": messages_of(state, speaker.name),
        "dialogs": {name: described(dialog, state["lang"]) for name, dialog in speakers.dialogs.items()},
        "labels": aliases.labels,
        "speaker": speaker.name,
        "foreign": state.get("foreign", False),
        "agreed": agreed,
        "answers": agreed.get("answers", []) if agreed else [],
        "declined": state.get("declined", []),
        "allowed": state.get("allowed", []),
    }


async def remember_form(speaker: Speaker, form: Json, context: Context, store: BaseStore | None) -> None:
    """Keep a form for the user's later threads if the dialog wants it; what a group was told stays with the group."""
    if not speaker.remember or store is None or context.is_shared:
        return
    await store.aput(namespace_of(context.user, "forms"), speaker.name, {**form})
