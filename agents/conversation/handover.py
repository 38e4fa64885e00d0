"""How the conversation changes hands: each function returns what to change in the state.

`is_active` and `dialog` are only ever written here, together, by `hold`.
"""

from functools import partial

from langchain_core.messages import AIMessage, AnyMessage, SystemMessage, ToolMessage
from langchain_core.messages.tool import ToolCall

from agents.conversation.changes import NOTHING, Change, Move, Update, put, say
from agents.conversation.heard import human
from agents.events import DialogChanged, Handover
from agents.state import SUPERVISOR, State, form_of, talk_of
from agents.state.message_notes import notes
from agents.state.person import Switch, Wish
from agents.state.talk import Status, TalkUpdate
from agents.toolkit.handover_tools import missing
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
    reminder = SystemMessage(
        phrase(note, state["lang"], brief=brief or "-"),
        additional_kwargs=notes(brief=brief),
    )
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
    text = phrase("offer", state["lang"], title=title(dialog, state["lang"]), known=values)
    spoken, events = say(SUPERVISOR, text)
    talks: dict[str, TalkUpdate] = {SUPERVISOR: {"add": [AIMessage(text)]}, dialog.name: {"offered": True}}
    return {**spoken, "talks": talks, "offer": dialog.name}, events


def recap(dialog: Speaker, state: State) -> str:
    """Return where a dialog stood: "Back to your profile: skills Python; what are you interested in?"."""
    values, question = progress(dialog, state)
    lang = state["lang"]
    return phrase("recap", lang, title=title(dialog, lang), known=values, question=question).strip()


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


def title(dialog: Speaker, lang: str) -> str:
    """Return what the user knows a dialog by."""
    return title_of(dialog.name, lang)


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
    exchange: list[AnyMessage] = [
        human(heard, state["lang"]),
        AIMessage("", tool_calls=[call]),
        result,
    ]
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
