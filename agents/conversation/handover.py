"""How the conversation changes hands: each function returns what to change in the state.

`is_active` and `dialog` are only ever written here, together, by `hold`.
"""

import logging
from collections.abc import Sequence
from functools import partial
from itertools import takewhile

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.tool import ToolCall

from agents.conversation.changes import NOTHING, Change, Move, Update, put, say, show_stored
from agents.conversation.heard import human
from agents.events import DialogChanged, Event, Handover, Observed
from agents.state import SUPERVISOR, State, form_of, messages_of, talk_of
from agents.state.message_notes import notes
from agents.state.person import Switch, Wish
from agents.state.talk import Status, TalkUpdate
from agents.state.verdict import Verdict
from agents.toolkit.handover_tools import HAND_BACK, missing
from agents.toolkit.speaker import Speaker, Speakers
from prompts import form_texts, phrase, title_of

MAX_HOPS = 3
"""Hand-overs in a turn, at most."""
LONGEST_BRIEF = 1000
"""Characters of a brief or a wish."""
MOST_PAUSED = 3
"""Dialogs that wait on the stack, at most; the oldest one is finished for the next."""


def take_over(dialog: Speaker, state: State, brief: str) -> Change:
    """Let a dialog take the conversation over; a paused one goes on where it stood."""
    note = "resumed" if talk_of(state, dialog.name).get("status") == "paused" else "taken_over"
    reminder = SystemMessage(phrase(note, state["lang"], brief=brief or "-"), additional_kwargs=notes(brief=brief))
    update: Update = {
        **hold(dialog.name),
        "talks": {dialog.name: {"status": "running", "version": dialog.version, "add": [reminder]}},
        "paused": _paused_without(dialog.name, state),
        "offer": None,
        "hops": state.get("hops", 0) + 1,
    }
    return update, [
        Handover(from_=SUPERVISOR, to=dialog.name, brief=brief),
        DialogChanged(dialog=dialog.name, status="running"),
    ]


def straight(target: Speaker | None, state: State, *, loser: str) -> list[Move]:
    """Give the message to a dialog without the supervisor's model; None: to the supervisor.

    `loser` is the speaker that gets the message back if the user takes the switch back.
    """
    switched: Switch = {"dialog": loser, "heard": state["heard"]}
    wishes: list[Wish] = [{**wish, "left": True} for wish in state.get("wishes", [])]
    switch_move = put({"listener": SUPERVISOR, "drafting": False, "switched": switched, "wishes": wishes})
    if target is None:
        return [switch_move]
    brief = (state["heard"]["text"] or "")[:LONGEST_BRIEF]
    notice = partial(_tell_supervisor, target, brief)
    return [notice, partial(take_over, target, brief=brief), switch_move, put({"listener": target.name})]


def pause(dialog: Speaker, state: State, reason: str, wish: str = "") -> Change:
    """Interrupt a dialog: the supervisor leads, and the dialog waits on the stack if it may be resumed."""
    if dialog.resume == "never":
        return finish(dialog, state, reason, wish)
    stack = [*_paused_without(dialog.name, state), dialog.name]
    update, events = _give_back(dialog, state, "paused", (reason, wish))
    for name in stack[:-MOST_PAUSED]:
        update["talks"][name] = {"status": "finished"}
    return {**update, "paused": stack[-MOST_PAUSED:]}, events


def interrupt(holder: str | None, speakers: Speakers, reason: str) -> list[Move]:
    """Pause the dialog that leads, if one does."""
    return [partial(pause, speakers[holder], reason=reason)] if holder else []


def finish(dialog: Speaker, state: State, reason: str, wish: str = "") -> Change:
    """End a dialog: the supervisor leads and knows how it ended, and what the user wants next."""
    update, events = _give_back(dialog, state, "finished", (reason, wish))
    return {**update, "paused": _paused_without(dialog.name, state)}, events


def resume(dialog: Speaker, state: State, *, silently: bool = False) -> Change:
    """Go on with a paused dialog; unless silently, with a recap made from its form, without a model."""
    text = "" if silently else recap(dialog, state)
    spoken, messages = say(dialog.name, text) if text else NOTHING
    talk: TalkUpdate = {"status": "running"}
    if text:
        talk["add"] = [AIMessage(text)]
    update: Update = {
        **hold(dialog.name),
        **spoken,
        "talks": {dialog.name: talk},
        "paused": _paused_without(dialog.name, state),
        "offer": None,
    }
    handover = Handover(from_=SUPERVISOR, to=dialog.name, brief="")
    return update, [handover, DialogChanged(dialog=dialog.name, status="running"), *messages]


def offer(dialog: Speaker, state: State) -> Change:
    """Ask the user, without a model, whether a paused dialog is to go on."""
    values, _ = progress(dialog, state)
    text = phrase("offer", state["lang"], title=title_of(dialog.name, state["lang"]), known=values)
    spoken, events = say(SUPERVISOR, text)
    talks: dict[str, TalkUpdate] = {SUPERVISOR: {"add": [AIMessage(text)]}, dialog.name: {"offered": True}}
    return {**spoken, "talks": talks, "offer": dialog.name}, events


def recap(dialog: Speaker, state: State) -> str:
    """Return where a dialog stood: "Back to your profile: skills Python; what are you interested in?"."""
    values, question = progress(dialog, state)
    lang = state["lang"]
    return phrase("recap", lang, title=title_of(dialog.name, lang), known=values, question=question).strip()


def progress(dialog: Speaker, state: State) -> tuple[str, str]:
    """Return what a dialog's form holds, in words, and the question it is at (empty: none)."""
    if dialog.form is None:
        return "", ""
    labels = form_texts(dialog.name, state["lang"])
    form = form_of(state, dialog.name)
    values = [f"{labels.get(name, {}).get('label', name)}: {_text(value)}" for name, value in form.items()]
    gaps = missing(dialog.form, form)
    question = labels.get(gaps[0], {}).get("question", "") if gaps else ""
    return f" ({'; '.join(values)})" if values else "", question


def drop(dialog: Speaker, state: State) -> Change:
    """Let a paused dialog go for good."""
    update: Update = {
        "talks": {dialog.name: {"status": "finished"}},
        "paused": _paused_without(dialog.name, state),
        "offer": None,
    }
    return update, [DialogChanged(dialog=dialog.name, status="finished")]


def hold(dialog: str | None) -> Update:
    """Say who holds the conversation from now on: a dialog, or (None) the supervisor."""
    return {"is_active": dialog is None, "dialog": dialog}


def _tell_supervisor(target: Speaker, brief: str, state: State) -> Change:
    """Write the switch into the supervisor's history, as if its model had called the dialog's tool."""
    heard = state["heard"]
    call = ToolCall(name=target.tool, args={"brief": brief}, id=f"switch-{heard['id']}", type="tool_call")
    result = ToolMessage(phrase("call_direct", state["lang"]), tool_call_id=call["id"], name=call["name"])
    exchange: list[AnyMessage] = [human(heard, state["lang"]), AIMessage("", tool_calls=[call]), result]
    return {"talks": {SUPERVISOR: {"add": exchange}}}, []


def _give_back(dialog: Speaker, state: State, status: Status, why: tuple[str, str]) -> Change:
    """Let the supervisor lead; `why` is the reason and what the user wants next, either may be empty."""
    values, _ = progress(dialog, state)
    reason = " / ".join(part for part in why if part)
    note = phrase(f"note_{status}", state["lang"], dialog=dialog.name, reason=reason or "-", known=values)
    report = SystemMessage(note, additional_kwargs=notes(brief=why[1], dialog=dialog.name))
    update: Update = {
        **hold(None),
        "talks": {dialog.name: {"status": status, "offered": False}, SUPERVISOR: {"add": [report]}},
    }
    return update, [
        Handover(from_=dialog.name, to=SUPERVISOR, brief=reason),
        DialogChanged(dialog=dialog.name, status=status),
    ]


def _paused_without(dialog: str, state: State) -> list[str]:
    return [name for name in state.get("paused", []) if name != dialog]


def _text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


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
            return [] if is_too_often else [partial(take_over, self.speakers[target], brief=text)]
        wish = text if target == SUPERVISOR else f"{target}: {text}"
        leave = pause if self._has_spoken(state) else finish
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
        answers, entry = list[Move](), list[Move]()
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
                entry = [partial(take_over, dialog, brief=brief)]
        return [*answers, *entry]

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
            leave = partial(pause, self.speaker, reason="", wish=wish)
        else:
            leave = partial(finish, self.speaker, reason="" if wish else _last_said(state), wish=wish)
        return [*moves, partial(self._decided, verdict), leave]

    def _was_refused(self, state: State) -> bool:
        """Tell whether the dialog has tried to give back in this turn, and was told to answer itself."""
        messages = takewhile(
            lambda it: not isinstance(it, HumanMessage), reversed(messages_of(state, self.speaker.name))
        )
        return any(isinstance(it, ToolMessage) and it.name == HAND_BACK and it.status == "error" for it in messages)

    def _has_spoken(self, state: State) -> bool:
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
    return state["said"][-1]["text"][:LONGEST_SUMMARY] if state["said"] else ""
