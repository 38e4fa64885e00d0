"""The node that runs the tools of a speaker's reply, handoffs included."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import cast

from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.messages.tool import ToolCall
from langgraph.prebuilt import ToolNode
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from langgraph.types import Command
from pydantic_core import to_jsonable_python

from agents.conversation import handover
from agents.conversation.changes import Change, Update
from agents.conversation.handover import HandoverCalls
from agents.conversation.scene import described
from agents.events.views import Notice
from agents.language.identifiers import Aliases
from agents.memory.store import namespace_of
from agents.nodes import ask
from agents.state import State, WaitingView, form_of, messages_of, talk_of
from agents.state.history import last_reply
from agents.state.message_notes import notes_of, with_notes
from agents.state.speaker_state import Json, Pending
from agents.toolkit.call import AroundToolCall, goes_in_circles
from agents.toolkit.citation_registry import CitationRegistry
from agents.toolkit.confirmation import mark_of
from agents.toolkit.context import Context, ToolState
from agents.toolkit.questions.form import stored_fields
from agents.toolkit.questions.options import CONFIRM
from agents.toolkit.result import Question, ToolResult, taken
from agents.toolkit.speaker import Speaker, Speakers
from agents.toolkit.tool_node import tool_node
from agents.toolkit.tool_search import ToolSearch, assistant_help, bound_tools, meant
from agents.toolkit.traits import Traits, traits_of
from agents.toolkit.undo import UNDO_LAST
from prompts import phrase

LONGEST_DONE = 200
"""Characters of a write's result for other speakers."""


class ToolCalls:
    """Run the tools of a speaker's last reply, and then its handoff, if any.

    Reads run side by side. If a call writes, all run in their order, and those behind a question wait for its answer.
    """

    def __init__(
        self, speaker: Speaker, speakers: Speakers, tool_search: ToolSearch | None, hooks: Sequence[AroundToolCall] = ()
    ) -> None:
        self.speaker, self.speakers, self.handovers = speaker, speakers, HandoverCalls(speaker, speakers)
        offered = [*bound_tools(speaker, speakers, tool_search), *(tool_search.tools.values() if tool_search else ())]
        self.tools = {tool.name: tool for tool in offered if tool.name not in self.handovers.names}
        self.node = tool_node(speaker, [*self.tools.values()], self.handovers.names, hooks)

    async def __call__(self, state: State, runtime: Runtime[Context]) -> Update:
        """Return the results of every call but those that wait for the user, and the holder of the conversation now."""
        covered = self._covered(state)
        reply, most = [*self._reply(state), *map(_call, covered)], runtime.context.limits.calls_per_reply
        passes = [call for call in reply[:most] if call["name"] in self.handovers.names]
        calls = [meant(call) for call in reply[:most] if call["name"] not in self.handovers.names]
        change = Change(state)
        # Of an earlier round only the views of writes are shown: their results say so.
        change.put(views=[{**waiting, "answers": False} for waiting in state.get("views", []) if waiting["writes"]])
        if covered:
            change.put(pending=[pending for pending in state["pending"] if pending not in covered])
        goto = await self._run(change, calls, runtime)
        if sum(waiting["answers"] for waiting in change.state["views"]) < len(calls):
            # The other calls need words.
            change.put(views=[{**waiting, "answers": False} for waiting in change.state["views"]])
        self.handovers.answer(change, reply[most:], "surplus")
        if calls and change.state.get("pending"):
            # A question on the screen comes first; the model may pass the conversation on once it is answered.
            # The views of other tools are shown before it: the user may need them to answer.
            self.handovers.answer(change, passes, "waits")
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
        """Speak to the user in place of a model that only repeats refused calls."""
        name, before = self.speaker.name, talk_of(change.state, self.speaker.name).get("failed", 0)
        if not handover.count_failure(change, self.speaker, before):
            text = phrase("in_circles", change.state["lang"])
            change.show_views(name)
            change.say(name, text)
            change.add(name, AIMessage(text))

    def _reply(self, state: State) -> Sequence[ToolCall]:
        """Return the calls to carry out: those of the last reply, or the answered one and those behind it."""
        if agreed := state.get("agreed"):
            messages = messages_of(state, self.speaker.name)
            done = [message.tool_call_id for message in messages if isinstance(message, ToolMessage)]
            return [call for call in (_call(agreed), *agreed.get("behind", [])) if call["id"] not in done]
        reply = last_reply(messages_of(state, self.speaker.name))
        return reply.tool_calls if reply else []

    def _covered(self, state: State) -> list[Pending]:
        """Return the calls that wait for the same yes as the one that the user has just agreed to."""
        waiting, allowed = state.get("pending", []) if state.get("agreed") else [], state.get("allowed", [])
        own = [call for call in waiting if call["speaker"] == self.speaker.name and call["kind"] == CONFIRM]
        return [call for call in own if mark_of(self._traits(call["tool"]), call["tool"], call["args"]) in allowed]

    async def _run(self, change: Change, calls: Sequence[ToolCall], runtime: Runtime[Context]) -> str:
        """Run ordinary tools up to a question in their order; return the speaker that one hands off to, or ""."""
        is_ordered = any(self._traits(call["name"]).effect == "write" for call in calls)
        open_questions, foreign = len(change.state.get("pending", [])), change.state.get("foreign", False)
        reply, goto = next((call["id"] or "" for call in calls), ""), ""
        while calls and not (is_ordered and len(change.state.get("pending", [])) > open_questions):
            together, calls = (calls[:1], calls[1:]) if is_ordered else (calls, [])
            target = await self._run_together(change, together, reply, foreign, runtime)
            goto = goto or target
        if calls:
            *earlier, asking = change.state["pending"]
            change.put(pending=[*earlier, {**asking, "behind": [*calls]}])
        return goto

    async def _run_together(
        self, change: Change, calls: Sequence[ToolCall], reply: str, foreign: bool, runtime: Runtime[Context]
    ) -> str:
        """Run calls side by side, and store their changes; return the speaker that one hands off to, or "".

        `reply` is the id of the first call of their reply. `foreign`: whether its model had read foreign text.
        """
        state, context = change.state, runtime.context
        citing = [call["id"] or "" for call in calls if self._traits(call["name"]).cited]
        visible = tool_state(self.speaker, self.speakers, {**state, "foreign": foreign}, calls, citing)
        visible["reply"] = reply
        form, aliases, sources = visible["form"], visible["aliases"], visible["sources"]
        goto = ""
        for written in changes_of(await self._node(context).ainvoke(visible)):
            for message in written["messages"]:
                target = self._take(change, message, calls, context)
                goto = goto or target
            form |= written.get("form", {})
            if "lang" in written:
                change.put(lang=written["lang"])
            if "undoing" in written:
                change.put(undoing=written["undoing"])
        change.put(agreed=None, sources=sources.stored)
        if aliases.by_kind:
            change.put(aliases=aliases.by_kind, labels=aliases.labels)
        if self.speaker.form:
            change.talk(self.speaker.name, form=form)
            if form:
                await remember_form(self.speaker, form, context, runtime.store)
        return goto

    def _node(self, context: Context) -> ToolNode:
        """Return the node for the tools of this turn: the speaker's own, and those that the client runs."""
        if not context.client_tools:
            return self.node
        return tool_node(self.speaker, [*self.tools.values(), *context.client_tools.values()], self.handovers.names)

    def _take(self, change: Change, message: ToolMessage, calls: Sequence[ToolCall], context: Context) -> str:
        """Store the result of one call; return the speaker that it hands off to, or ""."""
        state, name, target = change.state, self.speaker.name, ""
        outcome: ToolResult = message.artifact
        agreed = state.get("agreed")
        if outcome.goto:
            answer, target = self.handovers.handed_off(message, outcome.goto, state["lang"])
            change.add(name, answer)
        elif outcome.question is None:
            answer = seen_by(change, message, self._traits(message.name or ""))
            if agreed and agreed["call"] == message.tool_call_id:
                answer = with_notes(answer, asked=ask.asked(state, agreed))
                if not agreed.get("more"):
                    # Under the id of the user's yes, which no speaker then hears once more as a message.
                    answer.id = state["heard"]["id"]
            change.add(name, answer)
        else:
            call = next(call for call in calls if call["id"] == message.tool_call_id)
            pending = self._pending(call, outcome.question, agreed, state["lang"])
            pending = ask.resumed(pending, messages_of(state, name), state["lang"])
            change.put(pending=[*state.get("pending", []), pending])
        note_effects(change, message, self._traits(message.name or ""), context, self.speaker.name)
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
            "behind": [],
            "more": False,
            "client": question.client,
            "alone": question.alone,
        }


def _call(pending: Pending) -> ToolCall:
    return ToolCall(name=pending["tool"], args=pending["args"], id=pending["call"], type="tool_call")


def changes_of(results: object) -> list[Json]:
    """Return the changes of a tool node's results: their messages, and the keys that a tool's `Command` updates."""
    parts = results if isinstance(results, list) else [results]
    return [cast(Json, (part.update if isinstance(part, Command) else part) or {}) for part in parts]


def seen_by(change: Change, message: ToolMessage, traits: Traits) -> ToolMessage:
    """Return a result for the history, with its `seen` note; its view waits for the next words."""
    outcome: ToolResult = message.artifact
    view, noted_as = outcome.view, notes_of(message).get("seen", "nobody")
    if isinstance(view, Notice):
        # The notice was shown beside the answer.
        noted_as = "shown"
    elif view and (view.title.strip() or view.text().strip()):
        answers, stays = traits.answers, traits.answers or traits.effect == "write"
        noted_as = "as_answer" if answers else "shown" if stays else "with_words"
        waiting: WaitingView = {"call": message.tool_call_id, "body": view.body(), "writes": stays, "answers": answers}
        change.put(views=[*change.state.get("views", []), waiting])
    return with_notes(message.model_copy(update={"artifact": None}), seen=noted_as)


def note_effects(change: Change, message: ToolMessage, traits: Traits, context: Context, speaker: str) -> None:
    """Note in the state whether a call has written something, and whether it has brought foreign text."""
    outcome: ToolResult = message.artifact
    question = outcome.question
    if traits.effect == "write" and message.status != "error" and question is None and message.name != UNDO_LAST:
        text = "" if notes_of(message).get("foreign") else message.text.partition("\n")[0][:LONGEST_DONE]
        change.put(wrote=change.state.get("turn", 0), last_done={"speaker": speaker, "text": text})
    has_run = question is None or question.kind != CONFIRM
    # The help's answer to a failure may be foreign text as well.
    is_rescued = notes_of(message).get("rescued") and traits_of(assistant_help).is_foreign(context)
    if is_rescued or (has_run and notes_of(message).get("foreign")):
        change.put(foreign=True)


def tool_state(
    speaker: Speaker, speakers: Speakers, state: State, calls: Sequence[ToolCall] = (), cited: Sequence[str] = ()
) -> ToolState:
    """Return the state that the tools of these calls see; `cited` are the ids of calls that give numbered documents."""
    return {
        "messages": [AIMessage("", tool_calls=[*calls])],
        "reply": next((call["id"] or "" for call in calls), ""),
        "form": dict(form_of(state, speaker.name)),
        "lang": state["lang"],
        "heard": state["heard"],
        "aliases": Aliases(state.get("aliases"), state.get("labels")),
        "sources": CitationRegistry(
            state.get("sources"), turn := state.get("turn", 0), state.get("spoke", turn), cited
        ),
        "talk": messages_of(state, speaker.name),
        "dialogs": {name: described(dialog, state["lang"]) for name, dialog in speakers.dialogs.items()},
        "speaker": speaker.name,
        "foreign": state.get("foreign", False),
        "served": speakers.served,
        "outside": set(),
        "agreed": state.get("agreed"),
        "declined": state.get("declined", []),
        "allowed": state.get("allowed", []),
        "wrote": state.get("wrote", -1) >= turn - 1,
        "done": branch["done"] if (branch := state.get("branch")) and branch["by"] == state["heard"]["id"] else [],
    }


async def remember_form(speaker: Speaker, form: Json, context: Context, store: BaseStore | None) -> None:
    """Keep a form for the user's later threads if the dialog wants it; a form of a group stays with the group."""
    if not speaker.remember or store is None or context.is_shared:
        return
    await store.aput(namespace_of(context.user, "forms"), speaker.name, {**form})
