"""Handoffs: each function adds a part of one to a change.

`is_active` and `dialog` are only ever written here, together, by `set_holder`.
"""

import logging
from collections.abc import Iterable, Sequence
from itertools import takewhile

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.tool import ToolCall

from agents.conversation.changes import Change
from agents.conversation.gate.features import request
from agents.conversation.prompt import human
from agents.events import DialogChanged, Handover
from agents.language.identifiers import masked
from agents.state import SUPERVISOR, Plain, State, form_of, messages_of, talk_of
from agents.state.citations import uncited
from agents.state.history import last_reply
from agents.state.message_notes import notes, notes_of
from agents.state.person import Wish
from agents.state.speaker_state import Pending, Status
from agents.state.verdict import Kind, because
from agents.toolkit.handover_tools import HAND_BACK
from agents.toolkit.questions.form import EMPTY, missing, value_in_words
from agents.toolkit.speaker import Speaker, Speakers
from prompts import field_label, form_texts, phrase, title_of

LOG = logging.getLogger(__name__)
MAX_HOPS = 3
"""The most handoffs in a turn."""
MOST_FAILURES = 2
"""Failed turns in a row after which a dialog gives the conversation back."""
LONGEST_BRIEF = 1000
"""Characters of a brief or a wish."""
MOST_PAUSED = 3
"""The most dialogs that wait on the stack; the oldest one is finished for the next."""
LONGEST_SUMMARY = 200
"""Characters of a reply that a note quotes."""


def set_holder(dialog: str | None) -> Plain:
    """Set the holder of the conversation: a dialog, or (None) the supervisor."""
    return {"is_active": dialog is None, "dialog": dialog}


def may_hop(change: Change, target: str) -> bool:
    """Tell whether the turn has a handoff left; if not, the trace names the target."""
    if change.state.get("hops", 0) < MAX_HOPS:
        return True
    change.decide("handoff", "supervisor", because("no_hops"), target)
    return False


def take_over(change: Change, dialog: Speaker, brief: str) -> None:
    """Hand the conversation over to a dialog; a paused one resumes."""
    state = change.state
    note = "resumed" if talk_of(state, dialog.name).get("status") == "paused" else "taken_over"
    # The note does not repeat the words of the message.
    wish = phrase("brief_follows", state["lang"]) if brief and brief == state["heard"]["text"] else brief
    lines = [phrase(note, state["lang"], brief=wish or "-")]
    if done := _quoted(line["text"] for line in state.get("said", [])):
        lines.append(phrase("message_part", state["lang"], done=done))
    text = masked("\n".join(lines), state.get("aliases"))
    reminder = SystemMessage(text, additional_kwargs=notes(brief=brief))
    change.talk(dialog.name, version=dialog.version, add=[reminder])
    change.put(hops=state.get("hops", 0) + 1)
    _run(change, dialog, brief)


def hand_off_directly(change: Change, target: Speaker | None, *, loser: str) -> None:
    """Give the message to a dialog without the supervisor's model; None: to the supervisor.

    `loser` is the speaker that gets the message back if the user takes the switch back.
    """
    state = change.state
    wishes: list[Wish] = [{**wish, "left": True} for wish in state.get("wishes", [])]
    change.put(listener=SUPERVISOR, drafting=False, switched={"dialog": loser, "heard": state["heard"]}, wishes=wishes)
    if target is None:
        return
    brief = (state["heard"]["text"] or "")[:LONGEST_BRIEF]
    # The supervisor's history has the switch as if its model had called the dialog's tool.
    call = ToolCall(name=target.tool, args={"brief": brief}, id=f"switch-{state['heard']['id']}", type="tool_call")
    text = phrase("call_accepted", state["lang"], tool=target.tool)
    result = ToolMessage(text, tool_call_id=call["id"], name=call["name"])
    change.add(SUPERVISOR, human(state["heard"], state["lang"]), AIMessage("", tool_calls=[call]), result)
    take_over(change, target, brief)
    change.put(listener=target.name)


def last_paused(state: State, speakers: Speakers) -> Speaker | None:
    """Return the dialog that was paused last; None if none waits."""
    paused = [name for name in state.get("paused", []) if name in speakers.dialogs]
    return speakers[paused[-1]] if paused else None


def interrupt(change: Change, speakers: Speakers, reason: str) -> None:
    """Pause the dialog that leads, if one does."""
    if holder := change.state.get("dialog"):
        pause(change, speakers[holder], reason)


def pause(change: Change, dialog: Speaker, reason: str, wish: str = "") -> None:
    """Interrupt a dialog: the supervisor leads, and the dialog waits on the stack if it may be resumed.

    The supervisor gets the dialog's open question; the reason is for the trace alone.
    """
    is_over = dialog.resume == "never"
    stack = [*_paused_without(dialog.name, change.state), *([] if is_over else [dialog.name])]
    question, lang = open_question(dialog, change.state), change.state["lang"]
    if is_over and question:
        # Nothing leads back to it.
        change.say(SUPERVISOR, phrase("question_lost", lang, question=question))
    note = _note(change.state, dialog, "paused", wish, question)
    _give_back(change, dialog, "finished" if is_over else "paused", reason, wish, note)
    for name in stack[:-MOST_PAUSED]:
        change.talk(name, status="finished")
        change.decide("pause", "finished", because("too_many", most=MOST_PAUSED), name)
    change.put(paused=stack[-MOST_PAUSED:])


def finish(change: Change, dialog: Speaker, reason: str, wish: str = "", outcome: str = "finished") -> None:
    """End a dialog: the supervisor leads, and knows the outcome and the user's next wish."""
    _give_back(change, dialog, "finished", reason, wish, _note(change.state, dialog, outcome, wish))
    change.put(paused=_paused_without(dialog.name, change.state))


def count_failure(change: Change, dialog: Speaker, before: int) -> bool:
    """Count a failed turn of a dialog; after two in a row it gives the conversation back.

    The user is told so, and the supervisor hears the message; it hands nothing over in this turn.
    """
    change.talk(dialog.name, failed=before + 1)
    if dialog.is_supervisor or before + 1 < MOST_FAILURES:
        return False
    lang, text = change.state["lang"], (change.state["heard"]["text"] or "")[:LONGEST_BRIEF]
    change.decide("failure", "supervisor", because("failed"))
    change.say(SUPERVISOR, phrase("dialog_failed", lang, title=title_of(dialog.name, lang)))
    change.talk(dialog.name, failed=0)
    finish(change, dialog, because("failed"), text, "failed")
    change.put(hops=MAX_HOPS, listener=SUPERVISOR)
    return True


def resume(change: Change, dialog: Speaker, *, silently: bool = False) -> None:
    """Go on with a paused dialog; unless silently, with a recap made from its form, without a model.

    A choice that the user has left waits again; the caller shows it.
    """
    lang, left = change.state["lang"], left_choice(dialog.name, change.state)
    question = "" if left else open_question(dialog, change.state) or progress(dialog, change.state)[1]
    recap = phrase("recap", lang, title=title_of(dialog.name, lang), question=question).strip()
    _run(change, dialog)
    if silently:
        return
    if recap:
        change.say(dialog.name, recap)
    if left:
        put_again(change, left)
    elif recap:
        change.add(dialog.name, AIMessage(recap))


def left_choice(speaker: str, state: State) -> Pending | None:
    """Return the choice that a speaker's last call has asked for in vain."""
    return next((notes_of(message).get("left_choice") for message in messages_of(state, speaker)[-1:]), None)


def put_again(change: Change, pending: Pending) -> None:
    """Let a left choice wait again. Its call has a result already, so a copy of the call gets the answer."""
    replies = (it for it in messages_of(change.state, pending["speaker"]) if isinstance(it, AIMessage))
    call = next(call for reply in replies for call in reply.tool_calls if call["id"] == pending["call"])
    again: ToolCall = {**call, "id": f"again-{change.state['heard']['id']}"}
    change.add(pending["speaker"], AIMessage("", tool_calls=[again]))
    change.put(pending=[{**pending, "call": again["id"] or ""}])


def offer(change: Change, dialog: Speaker) -> None:
    """Ask the user, without a model, whether a paused dialog is to go on."""
    lang, question = change.state["lang"], open_question(dialog, change.state)
    key = "offer_asked" if question else "offer"
    text = phrase(key, lang, title=title_of(dialog.name, lang), question=question)
    change.say(SUPERVISOR, text)
    change.add(SUPERVISOR, AIMessage(text))
    change.talk(dialog.name, offered=True)
    change.put(offer=dialog.name)


def progress(dialog: Speaker, state: State) -> tuple[str, str]:
    """Return the values of a dialog's form, in words, and its next question (empty: none)."""
    if dialog.form is None:
        return "", ""
    form, lang = form_of(state, dialog.name), state["lang"]
    filled = {name: value for name, value in form.items() if value not in EMPTY}
    values = [f"{field_label(dialog.name, name, lang)}: {value_in_words(value)}" for name, value in filled.items()]
    gaps = missing(dialog.form, form)
    question = form_texts(dialog.name, lang).get(gaps[0], {}).get("question", "") if gaps else ""
    return "; ".join(values), question


def open_question(dialog: Speaker, state: State) -> str:
    """Return a dialog's last question to the user, in words or by a tool; empty if its last reply needs no answer."""
    for message in reversed(messages_of(state, dialog.name)):
        noted = notes_of(message)
        if question := noted.get("asked"):
            # Its options stand in the lines behind it.
            return question.partition("\n")[0]
        if isinstance(message, AIMessage) and message.text and not noted.keys() & {"served", "told"}:
            return request(uncited(message.text), state["lang"])
    return ""


def drop(change: Change, dialog: Speaker) -> None:
    """Let a paused dialog go for good."""
    change.talk(dialog.name, status="finished")
    change.put(paused=_paused_without(dialog.name, change.state), offer=None)
    change.tell(DialogChanged(dialog=dialog.name, status="finished"))


def _run(change: Change, dialog: Speaker, brief: str = "") -> None:
    change.put(**set_holder(dialog.name))
    change.put(paused=_paused_without(dialog.name, change.state), offer=None)
    change.talk(dialog.name, status="running")
    change.tell(Handover(from_=SUPERVISOR, to=dialog.name, brief=brief))
    change.tell(DialogChanged(dialog=dialog.name, status="running"))


def _note(state: State, dialog: Speaker, outcome: str, wish: str, question: str = "") -> str:
    """Return the supervisor's note on a dialog that leads no more: labelled parts, without the reason."""
    done = _quoted(line["text"] for line in state.get("said", []) if line["speaker"] == dialog.name)
    question = "" if question in done else question
    parts = {outcome: dialog.tool, "known": progress(dialog, state)[0], "done": done}
    parts |= {"results": _quoted(_untold_results(dialog, state)), "asked": question, "wish": wish}
    texts = [phrase(f"note_{name}", state["lang"], text=text) for name, text in parts.items() if text]
    return masked(" ".join(texts), state.get("aliases"))


def _untold_results(dialog: Speaker, state: State) -> Sequence[str]:
    """Return the last results of the dialog's tools that nobody saw and no words of the dialog tell."""
    behind = takewhile(
        lambda it: not (isinstance(it, HumanMessage) or (isinstance(it, AIMessage) and it.text.strip())),
        reversed(messages_of(state, dialog.name)),
    )
    results = [it for it in behind if isinstance(it, ToolMessage) and it.name != HAND_BACK and it.status != "error"]
    return [it.text for it in results if notes_of(it).get("seen", "nobody") == "nobody"][::-1]


def _quoted(texts: Iterable[str]) -> str:
    return "; ".join(f"“{' '.join(text.split())[:LONGEST_SUMMARY]}”" for text in texts)


def _give_back(change: Change, dialog: Speaker, status: Status, reason: str, wish: str, note: str) -> None:
    """Let the supervisor lead, with a note. The reason is for the trace."""
    change.put(**set_holder(None))
    change.talk(dialog.name, status=status, offered=False)
    change.add(SUPERVISOR, SystemMessage(note, additional_kwargs=notes(brief=wish, dialog=dialog.name)))
    reason = " / ".join(part for part in (reason, wish) if part)
    change.tell(Handover(from_=dialog.name, to=SUPERVISOR, brief=reason))
    change.tell(DialogChanged(dialog=dialog.name, status=status))


def _paused_without(dialog: str, state: State) -> list[str]:
    return [name for name in state.get("paused", []) if name != dialog]


class HandoverCalls:
    """Carry out the handoffs of a speaker's reply: to the dialog that it called, or back to the supervisor."""

    def __init__(self, speaker: Speaker, speakers: Speakers) -> None:
        self.speaker, self.speakers = speaker, speakers
        entries = [dialog.tool for dialog in speakers.dialogs.values()]
        self.names = entries if speaker.is_supervisor else [HAND_BACK]

    def carry_out(self, change: Change, calls: Sequence[ToolCall], *, alone: bool) -> None:
        """Carry out the handoff calls of a reply; `alone` if the reply calls no other tools."""
        if self.speaker.is_supervisor:
            self._hand_over(change, calls, alone=alone)
        elif calls:
            self._give_back(change, calls)

    def answer(self, change: Change, calls: Sequence[ToolCall], how: str) -> None:
        """Answer calls with the sentence of their outcome `how`."""
        status = "success" if how in ("accepted", "queued", "returned") else "error"
        for call in calls:
            text = phrase(f"call_{how}", change.state["lang"], tool=call["name"])
            message = ToolMessage(text, tool_call_id=call["id"], name=call["name"], status=status)
            change.add(self.speaker.name, message)

    def hand_off(self, change: Change, target: str) -> None:
        """Pass the user's message on; after too many handoffs, the supervisor gets it with the name of the target."""
        text = (change.state["heard"]["text"] or "")[:LONGEST_BRIEF]
        if not self.speaker.is_supervisor:
            self._pass_on(change, text, target)
        elif may_hop(change, target):
            take_over(change, self.speakers[target], text)

    def _pass_on(self, change: Change, wish: str, target: str) -> None:
        dialog = self.speakers.by_tool(target)
        name = dialog.name if dialog else target
        is_other = name in self.speakers.dialogs and name != self.speaker.name
        if not (is_other and may_hop(change, name)):
            self._leave(change, wish if name == SUPERVISOR else f"{target}: {wish}")
            return
        self._leave(change, wish, name)
        # `settle` begins this wish at once.
        next_wish: Wish = {"dialog": name, "brief": wish}
        change.put(wishes=[next_wish, *change.state.get("wishes", [])])

    def handed_off(self, message: ToolMessage, goto: str, lang: str) -> tuple[ToolMessage, str]:
        """Return the model's result of another library's handoff, and its target speaker.

        If the name is unknown, or its own, the speaker is empty and the message an error, for the operator as well.
        """
        dialog = self.speakers.by_tool(goto)
        name = dialog.name if dialog else goto
        tools = {SUPERVISOR: SUPERVISOR, **{own: other.tool or own for own, other in self.speakers.dialogs.items()}}
        if name in tools and name != self.speaker.name:
            text = phrase("call_accepted", lang, tool=tools[name])
            return message.model_copy(update={"content": text, "artifact": None}), name
        LOG.error("tool %s hands off to %r, and no dialog has this name", message.name, goto)
        text = phrase("handoff_unknown", lang, target=goto, known=", ".join(tools.values()))
        return message.model_copy(update={"content": text, "artifact": None, "status": "error"}), ""

    def _hand_over(self, change: Change, calls: Sequence[ToolCall], *, alone: bool) -> None:
        """Hand over to the first dialog that was called; further ones, and any called beside tools, wait as wishes."""
        state = change.state
        if calls and not may_hop(change, self._called(calls[0]).name):
            self.answer(change, calls, "refused")
            return
        leading, waiting = (calls[:1], calls[1:]) if alone else ((), calls)
        self.answer(change, leading, "accepted")
        self.answer(change, waiting, "queued")
        for call in waiting:
            wish: Wish = {"dialog": self._called(call).name, "brief": _argument(call, "brief")}
            if state.get("foreign"):
                wish["foreign"] = True
            change.put(wishes=[*change.state.get("wishes", []), wish])
        for call in leading:
            take_over(change, self._called(call), _argument(call, "brief"))

    def _called(self, call: ToolCall) -> Speaker:
        dialog = self.speakers.by_tool(call["name"])
        assert dialog is not None  # calls are filtered by the entry tools' names
        return dialog

    def _give_back(self, change: Change, calls: Sequence[ToolCall]) -> None:
        """End or interrupt the dialog; only the first such call of a reply counts."""
        # A dialog that insists may give back, else its model would be asked again and again.
        if change.state.get("undone") and not self._was_refused(change.state):
            self.answer(change, calls, "undone")
            change.decide(self.speaker.name, "stay", because("just_taken_back"), by="dialog")
            return
        self.answer(change, calls, "returned")
        # The next speaker gives an answer of its own, so the view is shown now.
        change.show_views(self.speaker.name)
        wish, target = _argument(calls[0], "wish"), _argument(calls[0], "target") or SUPERVISOR
        if wish or target != SUPERVISOR:
            self._pass_on(change, wish, target)
            return
        self._decide(change, "finished")
        has_spoken = any(line["speaker"] == self.speaker.name for line in change.state.get("said", []))
        if not (has_spoken or _has_words(change.state, self.speaker)):
            # The supervisor answers in place of a dialog that leaves without a word.
            change.put(verdict=None)
        finish(change, self.speaker, "")

    def _leave(self, change: Change, wish: str, target: str | None = None) -> None:
        """Give the conversation back with a wish; a dialog that has not said anything yet is not resumed later."""
        self._decide(change, "switch" if target else "supervisor", wish, target)
        has_spoken = last_reply(messages_of(change.state, self.speaker.name), in_words=True) is not None
        (pause if has_spoken else finish)(change, self.speaker, "", wish)

    def _was_refused(self, state: State) -> bool:
        """Tell whether the dialog has tried to give the conversation back in this turn, and was refused."""
        messages = takewhile(
            lambda it: not isinstance(it, HumanMessage), reversed(messages_of(state, self.speaker.name))
        )
        return any(isinstance(it, ToolMessage) and it.name == HAND_BACK and it.status == "error" for it in messages)

    def _decide(self, change: Change, kind: Kind, reason: str = "", target: str | None = None) -> None:
        change.decide(self.speaker.name, kind, reason, target, by="dialog")
        change.put(verdict={"kind": kind, "target": target, "reason": reason})


def _has_words(state: State, speaker: Speaker) -> bool:
    """Tell whether a speaker's last reply says something."""
    reply = last_reply(messages_of(state, speaker.name))
    return reply is not None and bool(reply.text.strip())


def _argument(call: ToolCall, name: str) -> str:
    return str(call["args"].get(name) or "")[:LONGEST_BRIEF]
