"""The node that carries out a speaker's tool calls, hand-overs included."""

import logging
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

from agents.context import Context, ToolState
from agents.conversation import handover
from agents.conversation.changes import Change, Move, Update, emit, put, sequence
from agents.conversation.handover import LONGEST_BRIEF, MAX_HOPS
from agents.conversation.scene import uses
from agents.conversation.screen import show
from agents.events import Event
from agents.events.handover import Observed
from agents.events.views import Notice, View, stored_view
from agents.identifiers import Aliases
from agents.memory.store import namespace_of
from agents.nodes import ask
from agents.notes import notes_of
from agents.person import Wish
from agents.questions.agreement import CONFIRM
from agents.questions.form_fields import stored_fields
from agents.search.source_book import SourceBook
from agents.speaker import Speaker, Speakers
from agents.state import SUPERVISOR, State, form_of, messages_of
from agents.talk import Json, Pending, TalkUpdate
from agents.toolkit.assistant_help import assistant_help
from agents.toolkit.bound_tools import bound_tools
from agents.toolkit.find_tools import meant
from agents.toolkit.handover_tools import HAND_BACK
from agents.toolkit.result import Question, ToolResult
from agents.toolkit.shelf import Shelf
from agents.toolkit.tool_node import tool_node
from agents.toolkit.traits import traits_of
from agents.verdict import Verdict
from prompts import phrase

LOG = logging.getLogger(__name__)
LONGEST_SUMMARY = 200
"""Characters of a dialog's last words that the supervisor is told."""


class Acting:
    """Run the tools of a speaker's last reply side by side, then the change of hands it asked for, if any."""

    def __init__(self, speaker: Speaker, speakers: Speakers, shelf: Shelf | None = None) -> None:
        self.speaker, self.speakers = speaker, speakers
        entries = [dialog.tool for dialog in speakers.dialogs.values()]
        self.passing = entries if speaker.is_supervisor else [HAND_BACK]
        offered = [*bound_tools(speaker, speakers, shelf), *(shelf.tools.values() if shelf else ())]
        self.tools = {tool.name: tool for tool in offered if tool.name not in self.passing}
        self.node = tool_node(speaker, [*self.tools.values()])

    async def __call__(self, state: State, runtime: Runtime[Context]) -> Update:
        """Return the results of every call but those that wait for the user, and who holds the conversation now."""
        reply, most = self._reply(state), runtime.context.limits.calls_per_reply
        passes = [call for call in reply[:most] if call["name"] in self.passing]
        calls = [meant(call) for call in reply[:most] if call["name"] not in self.passing]
        update: Update = {"view": None}
        goto = ""
        if calls:
            update, goto = await self._run(calls, state, runtime.context)
        form = update.get("talks", {}).get(self.speaker.name, {}).get("form")
        if form and self.speaker.remember and runtime.store is not None:
            await self._remember(form, runtime.context, runtime.store)
        if update.get("pending"):
            # A question on the screen comes first; the model may pass the conversation on once it is answered.
            # The view of another tool is shown before it: the user may need it to answer.
            waits = [partial(self._answer, call, "waits") for call in passes]
            moves: list[Move] = [*waits, *self._shown(update["view"]), ask.announce]
        elif goto:
            moves = [*(partial(self._answer, call, "refused") for call in passes), *self._handed_off(goto, state)]
        else:
            lead = self._hand_over if self.speaker.is_supervisor else self._give_back
            moves = lead(passes, {**state, "view": update["view"]}, alone=not calls)
        surplus = [partial(self._answer, call, "surplus") for call in reply[most:]]
        total, events = sequence(state, put(update), *surplus, *moves)
        emit(runtime, events)
        return total

    def _reply(self, state: State) -> Sequence[ToolCall]:
        """Return the calls to carry out: those of the last reply, or the one that the user has just agreed to."""
        if agreed := state.get("agreed"):
            return [ToolCall(name=agreed["tool"], args=agreed["args"], id=agreed["call"], type="tool_call")]
        messages = state["talks"][self.speaker.name]["messages"]
        return next(message for message in reversed(messages) if isinstance(message, AIMessage)).tool_calls

    async def _remember(self, form: Json, context: Context, store: BaseStore) -> None:
        """Keep the form in long-term memory; where others read along it has only what was said there."""
        place = namespace_of(context.user, "forms")
        if context.is_shared:
            item = await store.aget(place, self.speaker.name)
            form = {**(item.value if item else {}), **form}
        await store.aput(place, self.speaker.name, form)

    async def _run(self, calls: Sequence[ToolCall], state: State, context: Context) -> tuple[Update, str]:
        """Run ordinary tools; return what they change, and the speaker that one of them hands off to (else empty)."""
        form, agreed = dict(form_of(state, self.speaker.name)), state.get("agreed")
        aliases = Aliases(state.get("aliases"), state.get("labels"))
        citing = [call["id"] or "" for call in calls if self._cites(call["name"])]
        sources = SourceBook(state.get("sources"), state.get("turn", 0), citing)
        visible: ToolState = {
            "messages": [AIMessage("", tool_calls=list(calls))],
            "form": form,
            "lang": state["lang"],
            "heard": state["heard"],
            "aliases": aliases,
            "sources": sources,
            "talk": state["talks"][self.speaker.name]["messages"],
            "dialogs": uses(self.speakers, state["lang"]),
            "labels": aliases.labels,
            "speaker": self.speaker.name,
            "foreign": state.get("foreign", False),
            "agreed": agreed["call"] if agreed else "",
            "answers": agreed.get("answers", []) if agreed else [],
            "declined": state.get("declined", []),
        }
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
                    target = self._target(outcome.goto)
                    goto = goto or target
                    answers.append(self._told(message, outcome.goto, target, state["lang"]))
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
        """Tell whether a tool gives documents with numbers."""
        return name in self.tools and traits_of(self.tools[name]).cited

    def _target(self, goto: str) -> str:
        """Return the speaker that a hand-off of another library means; empty if there is none but this one."""
        dialog = self.speakers.by_tool(goto)
        name = dialog.name if dialog else goto
        return name if name in (SUPERVISOR, *self.speakers.dialogs) and name != self.speaker.name else ""

    def _told(self, message: ToolMessage, goto: str, target: str, lang: str) -> ToolMessage:
        """Return what the model reads of a hand-off; one that leads nowhere is an error, for the operator as well."""
        if target:
            return message.model_copy(update={"content": phrase("call_accepted", lang), "artifact": None})
        LOG.error("tool %s hands off to %r, and no dialog has this name", message.name, goto)
        names = ", ".join([SUPERVISOR, *self.speakers.dialogs])
        text = phrase("handoff_unknown", lang, target=goto, known=names)
        return message.model_copy(update={"content": text, "artifact": None, "status": "error"})

    def _handed_off(self, target: str, state: State) -> list[Move]:
        """Pass the user's message on; from one dialog to another by way of the supervisor, who is told for whom."""
        text = (state["heard"]["text"] or "")[:LONGEST_BRIEF]
        if self.speaker.is_supervisor:
            is_too_often = state.get("hops", 0) >= MAX_HOPS
            return [] if is_too_often else [partial(handover.take_over, self.speakers[target], brief=text)]
        wish = text if target == SUPERVISOR else f"{target}: {text}"
        leave = handover.pause if self._has_spoken(state) else handover.finish
        decided = partial(self._decided, Verdict("supervisor", reason=wish))
        return [decided, partial(leave, self.speaker, reason="", wish=wish)]

    def _writes(self, message: ToolMessage) -> bool:
        """Tell whether a result is that of a write that was done."""
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

    def _hand_over(self, passes: Sequence[ToolCall], state: State, *, alone: bool) -> list[Move]:
        """Let the first dialog called take over; further ones, and any called beside tools, wait as wishes."""
        moves: list[Move] = []
        for call in passes:
            dialog = self.speakers.by_tool(call["name"])
            assert dialog is not None  # passes are filtered by the entry tools' names
            if state.get("hops", 0) >= MAX_HOPS:
                moves.append(partial(self._answer, call, "refused"))
            elif alone and call is passes[0]:
                moves.append(partial(self._answer, call, "accepted"))
            else:
                moves.append(partial(self._answer, call, "queued"))
                wish: Wish = {"dialog": dialog.name, "brief": _text(call, "brief")}
                moves.append(partial(_queue, {**wish, "foreign": True} if state.get("foreign") else wish))
        first = passes[0] if passes and alone and state.get("hops", 0) < MAX_HOPS else None
        if first and (dialog := self.speakers.by_tool(first["name"])):
            moves.append(partial(handover.take_over, dialog, brief=_text(first, "brief")))
        return moves

    def _give_back(self, passes: Sequence[ToolCall], state: State, *, alone: bool) -> list[Move]:
        """End or interrupt the dialog; only the first such call of a reply counts."""
        bounced = bool(state.get("undone"))
        moves: list[Move] = [partial(self._answer, call, "undone" if bounced else "accepted") for call in passes]
        if not passes or bounced:
            return moves
        # The next speaker gives an answer of its own, so the view is shown now.
        moves += self._shown(state.get("view"))
        wish = _text(passes[0], "wish")
        verdict = Verdict("supervisor" if wish else "finished", reason=wish)
        if wish and self._has_spoken(state):
            leave = partial(handover.pause, self.speaker, reason="", wish=wish)
        else:
            leave = partial(handover.finish, self.speaker, reason="" if wish else _last_said(state), wish=wish)
        return [*moves, partial(self._decided, verdict), leave]

    def _shown(self, body: Json | None) -> list[Move]:
        view = stored_view(body) if body else None
        return [partial(show, view, self.speaker.name)] if view else []

    def _has_spoken(self, state: State) -> bool:
        """Tell whether the dialog has said anything to the user; if not, there is nothing to go back to."""
        messages = messages_of(state, self.speaker.name)
        return any(isinstance(message, AIMessage) and message.text for message in messages)

    def _answer(self, call: ToolCall, how: str, state: State) -> Change:
        text = phrase(f"call_{how}", state["lang"])
        status = "success" if how in ("accepted", "queued") else "error"
        message = ToolMessage(text, tool_call_id=call["id"], name=call["name"], status=status)
        return {"talks": {self.speaker.name: {"add": [message]}}}, []

    def _decided(self, verdict: Verdict, state: State) -> Change:
        event: Event = Observed(observer=self.speaker.name, verdict=verdict.kind, reason=verdict.reason, by="dialog")
        return {"verdict": verdict.plain()}, [event]


def with_few_calls(message: AIMessage, most: int) -> AIMessage:
    """Return a reply without the calls that are too many; the first of those stays, and is answered with a refusal."""
    if len(message.tool_calls) <= most:
        return message
    return message.model_copy(update={"tool_calls": message.tool_calls[: most + 1]})


def changes_of(result: object) -> Json:
    """Return what a tool node's result changes: its messages, and the keys that a tool's `Command` updates."""
    changes = result.update if isinstance(result, Command) else result
    return cast(Json, changes or {})


def _text(call: ToolCall, argument: str) -> str:
    return str(call["args"].get(argument) or "")[:LONGEST_BRIEF]


def _lasting(view: View | None) -> Json | None:
    """Return a view as plain data if it can stand for the answer.

    A notice cannot: it was shown beside the answer. An empty view would leave the user without any answer.
    """
    if view is None or isinstance(view, Notice) or not (view.title.strip() or view.text().strip()):
        return None
    return view.body()


def _queue(wish: Wish, state: State) -> Change:
    return {"wishes": [*state.get("wishes", []), wish]}, []


def _last_said(state: State) -> str:
    """Return the last words of a dialog that ends."""
    return state["said"][-1]["text"][:LONGEST_SUMMARY] if state["said"] else ""
