"""A speaker's calls that pass the conversation on: what each is answered, and who speaks next."""

import logging
from collections.abc import Sequence
from functools import partial
from itertools import takewhile

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.messages.tool import ToolCall

from agents.conversation import handover
from agents.conversation.changes import Change, Move
from agents.conversation.handover import LONGEST_BRIEF, MAX_HOPS
from agents.conversation.screen import show_stored
from agents.events import Event, Observed
from agents.state import SUPERVISOR, State, messages_of
from agents.state.person import Wish
from agents.state.verdict import Verdict
from agents.toolkit.handover_tools import HAND_BACK
from agents.toolkit.speaker import Speaker, Speakers
from prompts import phrase

LOG = logging.getLogger(__name__)
LONGEST_SUMMARY = 200
"""Characters of a dialog's last words that the supervisor is told."""


class HandoverCalls:
    """Say who speaks next after a speaker's reply: the dialog it called, or the supervisor it gave back to."""

    def __init__(self, speaker: Speaker, speakers: Speakers) -> None:
        self.speaker, self.speakers = speaker, speakers
        entries = [dialog.tool for dialog in speakers.dialogs.values()]
        self.names = entries if speaker.is_supervisor else [HAND_BACK]

    def moves(self, calls: Sequence[ToolCall], state: State, *, alone: bool) -> list[Move]:
        """Return what the calls of a reply lead to; `alone` if the reply calls no other tools."""
        lead = self._hand_over if self.speaker.is_supervisor else self._give_back
        return lead(calls, state, alone=alone)

    def answer(self, call: ToolCall, how: str, state: State) -> Change:
        """Answer a call with the sentence for `how` it was taken."""
        text = phrase(f"call_{how}", state["lang"])
        status = "success" if how in ("accepted", "queued") else "error"
        message = ToolMessage(text, tool_call_id=call["id"], name=call["name"], status=status)
        return {"talks": {self.speaker.name: {"add": [message]}}}, []

    def handed_off(self, target: str, state: State) -> list[Move]:
        """Pass the user's message on; from one dialog to another by way of the supervisor, who is told for whom."""
        text = (state["heard"]["text"] or "")[:LONGEST_BRIEF]
        if self.speaker.is_supervisor:
            is_too_often = state.get("hops", 0) >= MAX_HOPS
            return [] if is_too_often else [partial(handover.take_over, self.speakers[target], brief=text)]
        wish = text if target == SUPERVISOR else f"{target}: {text}"
        leave = handover.pause if self._has_spoken(state) else handover.finish
        decided = partial(self._decided, Verdict("supervisor", reason=wish))
        return [decided, partial(leave, self.speaker, reason="", wish=wish)]

    def target(self, goto: str) -> str:
        """Return the speaker that a hand-off of another library means; empty if the name is unknown or its own."""
        dialog = self.speakers.by_tool(goto)
        name = dialog.name if dialog else goto
        return name if name in (SUPERVISOR, *self.speakers.dialogs) and name != self.speaker.name else ""

    def handed_off_message(self, message: ToolMessage, goto: str, target: str, lang: str) -> ToolMessage:
        """Return what the model reads of a hand-off; one that leads nowhere is an error, for the operator as well."""
        if target:
            return message.model_copy(update={"content": phrase("call_accepted", lang), "artifact": None})
        LOG.error("tool %s hands off to %r, and no dialog has this name", message.name, goto)
        names = ", ".join([SUPERVISOR, *self.speakers.dialogs])
        text = phrase("handoff_unknown", lang, target=goto, known=names)
        return message.model_copy(update={"content": text, "artifact": None, "status": "error"})

    def _hand_over(self, passes: Sequence[ToolCall], state: State, *, alone: bool) -> list[Move]:
        """Let the first dialog called take over; further ones, and any called beside tools, wait as wishes."""
        answers, take_over = list[Move](), list[Move]()
        is_too_often = state.get("hops", 0) >= MAX_HOPS
        leading = passes[0] if passes and alone and not is_too_often else None
        for call in passes:
            how = "refused" if is_too_often else "accepted" if call is leading else "queued"
            answers.append(partial(self.answer, call, how))
            dialog = self.speakers.by_tool(call["name"])
            assert dialog is not None  # passes are filtered by the entry tools' names
            brief = _answer_text(call, "brief")
            if how == "queued":
                wish: Wish = {"dialog": dialog.name, "brief": brief}
                answers.append(partial(_queue, {**wish, "foreign": True} if state.get("foreign") else wish))
            elif how == "accepted":
                take_over = [partial(handover.take_over, dialog, brief=brief)]
        return [*answers, *take_over]

    def _give_back(self, passes: Sequence[ToolCall], state: State, *, alone: bool) -> list[Move]:
        """End or interrupt the dialog; only the first such call of a reply counts."""
        # Who insists is let go, else the model would be asked again and again.
        is_refused = bool(state.get("undone")) and not self._was_refused(state)
        moves: list[Move] = [partial(self.answer, call, "undone" if is_refused else "accepted") for call in passes]
        if not passes or is_refused:
            return moves
        # The next speaker gives an answer of its own, so the view is shown now.
        moves += show_stored(state.get("view"), self.speaker.name)
        wish = _answer_text(passes[0], "wish")
        verdict = Verdict("supervisor" if wish else "finished", reason=wish)
        if wish and self._has_spoken(state):
            leave = partial(handover.pause, self.speaker, reason="", wish=wish)
        else:
            leave = partial(handover.finish, self.speaker, reason="" if wish else _last_said(state), wish=wish)
        return [*moves, partial(self._decided, verdict), leave]

    def _was_refused(self, state: State) -> bool:
        """Tell whether the dialog has tried to give back in this turn, and was told to answer itself."""
        messages = takewhile(
            lambda it: not isinstance(it, HumanMessage), reversed(messages_of(state, self.speaker.name))
        )
        return any(isinstance(it, ToolMessage) and it.name == HAND_BACK and it.status == "error" for it in messages)

    def _has_spoken(self, state: State) -> bool:
        """Tell whether the dialog has said anything to the user; if not, there is nothing to go back to."""
        messages = messages_of(state, self.speaker.name)
        return any(isinstance(message, AIMessage) and message.text for message in messages)

    def _decided(self, verdict: Verdict, state: State) -> Change:
        event: Event = Observed(observer=self.speaker.name, verdict=verdict.kind, reason=verdict.reason, by="dialog")
        return {"verdict": verdict.plain()}, [event]


def _answer_text(call: ToolCall, argument: str) -> str:
    return str(call["args"].get(argument) or "")[:LONGEST_BRIEF]


def _queue(wish: Wish, state: State) -> Change:
    return {"wishes": [*state.get("wishes", []), wish]}, []


def _last_said(state: State) -> str:
    """Return the last words of a dialog that ends."""
    return state["said"][-1]["text"][:LONGEST_SUMMARY] if state["said"] else ""
