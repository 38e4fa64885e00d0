"""The node in which a speaker's tool calls are carried out, the hand-overs among them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any, cast

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langchain_core.messages.tool import ToolCall
from langgraph.runtime import Runtime
from langgraph.types import Command
from pydantic_core import to_jsonable_python

from agents.context import Context
from agents.conversation import handover
from agents.conversation.changes import Change, Update, sequence
from agents.conversation.handover import MAX_HOPS
from agents.conversation.screen import show
from agents.events import Event
from agents.events.handover import Observed
from agents.events.views import Notice, View, stored_view
from agents.identifiers import Aliases
from agents.memory.store import namespace_of
from agents.nodes import ask
from agents.questions.form_fields import blank
from agents.speaker import Speaker, Speakers
from agents.state import Pending, State, TalkUpdate, Wish
from agents.toolkit.bound_tools import bound_tools
from agents.toolkit.find_tools import meant
from agents.toolkit.handover_tools import HAND_BACK
from agents.toolkit.result import Outcome, Question
from agents.toolkit.shelf import Shelf
from agents.toolkit.tool_node import tool_node
from agents.toolkit.traits import traits_of
from agents.verdict import Verdict
from prompts import phrase

LONGEST_BRIEF = 1000
LONGEST_SUMMARY = 200


class Acting:
    """Run the tools of a speaker's last reply side by side, then the change of hands it asked for, if any."""

    def __init__(self, speaker: Speaker, speakers: Speakers, shelf: Shelf | None = None) -> None:
        self.speaker, self.speakers = speaker, speakers
        entries = [dialog.tool for dialog in speakers.dialogs.values()]
        self.passing = entries if speaker.is_supervisor else [HAND_BACK]
        offered = [*bound_tools(speaker, speakers, shelf), *(shelf.tools.values() if shelf else ())]
        self.node = tool_node(speaker, [tool for tool in offered if tool.name not in self.passing])

    async def __call__(self, state: State, runtime: Runtime[Context]) -> Update:
        """Return the answers to every call but those that wait for the user, and who holds the conversation now."""
        talk = state["talks"][self.speaker.name]
        reply = next(m for m in reversed(talk["messages"]) if isinstance(m, AIMessage))
        passes = [call for call in reply.tool_calls if call["name"] in self.passing]
        calls = [meant(call) for call in reply.tool_calls if call["name"] not in self.passing]
        update: Update = {"view": None, **(await self._run(calls, state) if calls else {})}
        form = update.get("talks", {}).get(self.speaker.name, {}).get("form")
        if form and self.speaker.remember and runtime.store is not None:
            await runtime.store.aput(namespace_of(runtime.context.user, "forms"), self.speaker.name, form)
        lead = self._hand_over if self.speaker.is_supervisor else self._give_back
        moves = lead(passes, cast(State, {**state, "view": update["view"]}), alone=not calls)
        if update.get("pending"):
            # A question on the screen comes first; the model may pass the conversation on once it is answered.
            # What another tool found is shown before it: the user may need it to answer.
            waits = [partial(self._answer, call, "waits") for call in passes]
            moves = [*waits, *self._shown(update["view"]), ask.announce]
        whole, events = sequence(state, lambda _: (update, []), *moves)
        for event in events:
            runtime.stream_writer(event)
        return whole

    async def _run(self, calls: Sequence[ToolCall], state: State) -> Update:
        """Run ordinary tools; `runtime.state` has the speaker's form and talk, the language and the message."""
        form = dict(state["talks"][self.speaker.name].get("form") or {})
        aliases = Aliases(state.get("aliases"))
        sight = {
            "messages": [AIMessage("", tool_calls=list(calls))],
            "form": form,
            "lang": state["lang"],
            "heard": state["heard"],
            "aliases": aliases,
            "talk": state["talks"][self.speaker.name]["messages"],
        }
        parts = await self.node.ainvoke(sight)
        update: Update = {"view": None}
        answers: list[AnyMessage] = []
        pending: list[Pending] = []
        for part in parts if isinstance(parts, list) else [parts]:
            change = (part.update or {}) if isinstance(part, Command) else part
            for message in change["messages"]:
                outcome: Outcome = message.artifact
                if outcome.question is None:
                    update["view"] = _lasting(outcome.view)
                    answers.append(message.model_copy(update={"artifact": None}))
                else:
                    call = next(call for call in calls if call["id"] == message.tool_call_id)
                    pending.append(self._pending(call, outcome.question))
            form |= change.get("form", {})
            update |= {key: value for key, value in change.items() if key == "lang"}
        talk: TalkUpdate = {"add": answers}
        if self.speaker.form:
            talk["form"] = form
        kept = {"aliases": aliases.known} if aliases.known else {}
        return {**update, **kept, "pending": pending, "talks": {self.speaker.name: talk}}

    def _pending(self, call: ToolCall, question: Question) -> Pending:
        found = traits_of(self.node.tools_by_name[call["name"]])
        return {
            "call": call["id"] or "",
            "speaker": self.speaker.name,
            "tool": call["name"],
            "args": call["args"],
            "kind": found.kind,
            "prompt": question.prompt,
            "options": to_jsonable_python([asdict(option) for option in question.options]),
            "url": question.url,
            **blank(found.form),
            "filled": {},
            "skipped": [],
        }

    def _hand_over(self, passes: Sequence[ToolCall], state: State, *, alone: bool) -> list[Any]:
        """Let the first dialog called take over; further ones, and any called beside tools, wait as wishes."""
        moves: list[Any] = []
        for call in passes:
            dialog = self.speakers.by_tool(call["name"])
            assert dialog is not None  # passes are filtered by the entry tools' names
            brief = str(call["args"].get("brief") or "")[:LONGEST_BRIEF]
            if state.get("hops", 0) >= MAX_HOPS:
                moves.append(partial(self._answer, call, "refused"))
            elif alone and call is passes[0]:
                moves.append(partial(self._answer, call, "accepted"))
            else:
                moves.append(partial(self._answer, call, "queued"))
                moves.append(partial(_queue, {"dialog": dialog.name, "brief": brief}))
        first = passes[0] if passes and alone and state.get("hops", 0) < MAX_HOPS else None
        if first and (dialog := self.speakers.by_tool(first["name"])):
            brief = str(first["args"].get("brief") or "")[:LONGEST_BRIEF]
            moves.append(lambda now: handover.take_over(dialog, now, brief))
        return moves

    def _give_back(self, passes: Sequence[ToolCall], state: State, *, alone: bool) -> list[Any]:
        """End or interrupt the dialog; only the first such call of a reply counts."""
        bounced = bool(state.get("undone"))
        moves: list[Any] = [partial(self._answer, call, "undone" if bounced else "accepted") for call in passes]
        if not passes or bounced:
            return moves
        # Whoever speaks next has an answer of their own.
        moves += self._shown(state.get("view"))
        wish = str(passes[0]["args"].get("wish") or "")[:LONGEST_BRIEF]
        verdict = Verdict("supervisor" if wish else "finished", reason=wish)
        if wish and self._has_spoken(state):
            leave = partial(handover.pause, self.speaker, reason="", wish=wish)
        else:
            leave = partial(handover.finish, self.speaker, reason="" if wish else _last_said(state), wish=wish)
        return [*moves, partial(self._decided, verdict), leave]

    def _shown(self, body: Mapping[str, Any] | None) -> list[Any]:
        view = stored_view(body) if body else None
        return [partial(show, view, self.speaker.name)] if view else []

    def _has_spoken(self, state: State) -> bool:
        """Tell whether the user has heard this dialog; one that has not is not worth going back to."""
        messages = state["talks"][self.speaker.name]["messages"]
        return any(isinstance(message, AIMessage) and message.text for message in messages)

    def _answer(self, call: ToolCall, how: str, state: State) -> Change:
        text = phrase(f"call_{how}", state["lang"])
        status = "success" if how in ("accepted", "queued") else "error"
        message = ToolMessage(text, tool_call_id=call["id"], name=call["name"], status=status)
        return {"talks": {self.speaker.name: {"add": [message]}}}, []

    def _decided(self, verdict: Verdict, state: State) -> Change:
        event: Event = Observed(observer=self.speaker.name, verdict=verdict.kind, reason=verdict.reason, by="dialog")
        return {"verdict": verdict.plain()}, [event]


def _lasting(view: View | None) -> dict[str, Any] | None:
    """Return a view that stands for the answer, as plain data; a notice has been shown beside it already.

    A view that shows nothing would leave the user without any answer.
    """
    if view is None or isinstance(view, Notice) or not (view.title.strip() or view.text().strip()):
        return None
    return view.body()


def _queue(wish: Wish, state: State) -> Change:
    return {"wishes": [*state.get("wishes", []), wish]}, []


def _last_said(state: State) -> str:
    """Return how a dialog ended, in its own words."""
    return state["said"][-1]["text"][:LONGEST_SUMMARY] if state["said"] else ""
