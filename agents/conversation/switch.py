"""What the user's own words settle without a model: a name, a plain wish, home, back again, a yes to an offer."""

import re
from functools import partial
from typing import Literal, get_args, get_origin

from langchain_core.messages import AIMessage
from pydantic import BaseModel

from agents.conversation import handover
from agents.conversation.changes import Change, Move, decision, give_to, put, say
from agents.conversation.gate import asks
from agents.conversation.heard import human
from agents.conversation.scene import Scene
from agents.language.text.stems import words
from agents.language.text.vocabulary import is_said, listening, mentions, says, vocabulary
from agents.state import SUPERVISOR, State
from agents.state.person import Heard, Switch, Wish
from agents.toolkit.speaker import Speaker, Speakers
from prompts import phrase, title_of

Answer = Literal["yes", "no"]
NUMBER = re.compile(r"[#№]?\d{1,6}[.)]?|\d{4}-\d\d-\d\d|\d{1,2}[:.]\d\d([.:]\d{2,4})?")


def called_by_name(dialog: Speaker, state: State, speakers: Speakers) -> list[Move]:
    """Begin the dialog that the user called by its name; the name itself needs no answer, and can be taken back."""
    holder = state.get("dialog")
    heard: Heard = {**state["heard"], "text": None}
    switched: Switch | None = {"dialog": holder, "heard": heard} if holder else None
    return [
        decision("name", "switch", dialog.name, "called by its name", "free"),
        *handover.interrupt(holder, speakers, dialog.name),
        partial(handover.take_over, dialog, brief=""),
        put({"heard": heard, "listener": dialog.name, "switched": switched}),
    ]


def entered(dialog: Speaker, state: State, speakers: Speakers) -> list[Move]:
    """Give the message to the dialog that it plainly asks for; no model is asked whose it is."""
    holder = state.get("dialog")
    return [
        decision("shortcut", "switch", dialog.name, f"asks for {dialog.name}", "free"),
        *handover.interrupt(holder, speakers, dialog.name),
        *handover.straight(dialog, state, loser=holder or SUPERVISOR),
    ]


def home(holder: str | None, speakers: Speakers) -> list[Move]:
    """Interrupt the dialog, if one leads; the answer only confirms it."""
    leave = handover.interrupt(holder, speakers, "home")
    return [decision("home", "supervisor", None, "called home", "free"), *leave, _at_home]


def is_taken_back(switched: Switch, state: State, speakers: Speakers) -> bool:
    """Tell whether the user takes a switch back; "go on" alone is no complaint where no dialog was left."""
    text, lang = state["heard"]["text"] or "", state["lang"]
    if switched["dialog"] == SUPERVISOR:
        # "Undo" means what was written there, if anything was.
        return says("mistaken", text, lang) and not (takes_back(state) and _has_just_written(state))
    return switched["dialog"] in speakers.dialogs and says("undo", text, lang)


def taken_back(switched: Switch, state: State, speakers: Speakers) -> list[Move]:
    """Give the message that caused a switch to the speaker it was taken from."""
    loser, holder = switched["dialog"], state.get("dialog")
    is_home = loser == SUPERVISOR
    heard: Heard = {**state["heard"], "text": switched["heard"]["text"]}
    back: list[Move] = [
        decision(
            "undo",
            "supervisor" if is_home else "switch",
            None if is_home else loser,
            "the user took the switch back",
            "free",
        ),
        *([partial(handover.finish, speakers[holder], reason="taken back")] if holder else []),
        # What the wrong dialog has written goes with the switch.
        put({"undoing": switched["heard"]["id"]}),
    ]
    if is_home:
        # The supervisor's model decides on a message that went straight to a dialog.
        return [*back, put({"heard": heard, "listener": SUPERVISOR})]
    if heard["text"] is None:
        # The dialog was left by a name alone, so there is no message for it: it says where it stood.
        return [*back, partial(handover.resume, speakers[loser]), give_to(None)]
    wishes: list[Wish] = [{**wish, "left": False} for wish in state.get("wishes", [])]
    return [
        *back,
        partial(handover.resume, speakers[loser], silently=True),
        put({"heard": heard, "listener": loser, "undone": True, "wishes": wishes}),
    ]


def takes_back(state: State) -> bool:
    """Tell whether a message takes back what was written: plainly, or by a word that means so right after a write."""
    text = state["heard"]["text"] or ""
    return is_said("take_back", text) or (_has_just_written(state) and is_said("take_back_now", text))


def _has_just_written(state: State) -> bool:
    return state.get("wrote") == state["turn"] - 1


def _at_home(state: State) -> Change:
    text = phrase("home", state["lang"])
    spoken, events = say(SUPERVISOR, text)
    heard = human(state["heard"], state["lang"])
    return {**spoken, "talks": {SUPERVISOR: {"add": [heard, AIMessage(text)]}}, "listener": None}, events


def answer_to_offer(text: str, lang: str) -> Answer | None:
    """Return what a text answers to an offer; None if it speaks of something else."""
    if says("go_on", text, lang):
        return "yes"
    answers: tuple[Answer, ...] = ("yes", "no")
    return next((answer for answer in answers if says(answer, text, lang)), None)


def offers_wish(offered: str | None, state: State) -> bool:
    """Tell whether the dialog on offer is that of a wish that was left, not a paused one."""
    wishes = state.get("wishes", [])
    return bool(offered and wishes and wishes[0].get("left") and wishes[0]["dialog"] == offered)


def offer_answered(dialog: Speaker, answer: Answer, state: State, speakers: Speakers) -> list[Move]:
    """Go on with the dialog on offer, or let it go; the same for the wish on offer."""
    if offers_wish(dialog.name, state):
        return _wish_answered(dialog, answer, state, speakers)
    if answer == "yes":
        return [
            decision("offer", "switch", dialog.name, "the user accepted", "free"),
            partial(handover.resume, dialog),
            give_to(None),
        ]
    return [
        decision("offer", "supervisor", None, "the user declined", "free"),
        partial(handover.drop, dialog),
        give_to(SUPERVISOR),
    ]


def _wish_answered(dialog: Speaker, answer: Answer, state: State, speakers: Speakers) -> list[Move]:
    wish, holder = state["wishes"][0], state.get("dialog")
    remaining_wishes = put({"wishes": state["wishes"][1:], "foreign": wish.get("foreign", False)})
    if answer == "no":
        decided = decision("offer", "supervisor", None, "the user declined a wish", "free")
        return [decided, remaining_wishes, give_to(holder or SUPERVISOR)]
    return [
        decision("offer", "switch", dialog.name, "the user accepted a wish", "free"),
        remaining_wishes,
        *handover.interrupt(holder, speakers, dialog.name),
        partial(handover.take_over, dialog, brief=wish["brief"]),
        give_to(dialog.name),
    ]


def fits(scene: Scene, form: type[BaseModel] | None) -> str | None:
    """Return why a message plainly answers the dialog's last reply; None if it may be about something else."""
    if scene.reply is None:
        return None
    text = scene.text.strip()
    if asks(scene.reply) and (says("yes", text, scene.lang) or says("no", text, scene.lang)):
        return "yes or no to a question"
    if NUMBER.fullmatch(text):
        return "a number or date"
    if form and scene.missing and text.casefold() in choices(form, scene.missing[0]):
        return f"a choice for {scene.missing[0]}"
    return None


def choices(form: type[BaseModel], field: str) -> set[str]:
    """Return the values that a form's field admits, if it admits only a few."""
    annotation = form.model_fields[field].annotation
    kinds = [annotation, *get_args(annotation)]
    return {str(value).casefold() for kind in kinds if get_origin(kind) is Literal for value in get_args(kind)}


def named(text: str, speakers: Speakers, lang: str) -> str | None:
    """Return the dialog whose name or title is all that the message says."""
    called = words(text)
    for name in speakers.dialogs:
        if called and called in (words(name), words(title_of(name, lang))):
            return name
    return None


def is_elsewhere(text: str, state: State, speakers: Speakers) -> bool:
    """Tell whether a message plainly is for somebody else than who asked the user to fill something in."""
    lang = state["lang"]
    leaves = vocabulary(listening(text, lang)).means(text, "cancel", "switch.phrases", "home")
    # A single word ("exit") may well be part of what is filled in.
    cue = mentions("switch", text, lang) or ""
    # What asks for a dialog may well be filled in ("plan my week").
    is_shortcut = state.get("shortcut") is not None and speakers.by_tool(state["shortcut"] or "") is None
    return leaves or " " in cue or is_shortcut or named(text, speakers, lang) is not None
