"""Switches of the speaker that the user's own words decide: by a name, by a plain wish, home, and back again."""

from functools import partial

from langchain_core.messages import AIMessage

from agents.conversation import handover
from agents.conversation.changes import Change, Move, decision, give_to, put, say
from agents.conversation.heard import human
from agents.language.text.phrases import is_said, says
from agents.state import SUPERVISOR, State
from agents.state.person import Heard, Switch, Wish
from agents.toolkit.speaker import Speaker, Speakers
from prompts import phrase


def called_by_name(dialog: Speaker, state: State, speakers: Speakers) -> list[Move]:
    """Begin the dialog that the user called by its name; the name itself needs no answer, and can be taken back."""
    holder = state.get("dialog")
    heard: Heard = {**state["heard"], "text": None}
    switched: Switch | None = {"dialog": holder, "heard": heard} if holder else None
    return [
        decision("name", "switch", dialog.name, "called by its name", "free"),
        *([partial(handover.pause, speakers[holder], reason=dialog.name)] if holder else []),
        partial(handover.take_over, dialog, brief=""),
        put({"heard": heard, "listener": dialog.name, "switched": switched}),
    ]


def entered(dialog: Speaker, state: State, speakers: Speakers) -> list[Move]:
    """Give the message to the dialog that it plainly asks for; no model is asked whose it is."""
    holder = state.get("dialog")
    return [
        decision("shortcut", "switch", dialog.name, f"asks for {dialog.name}", "free"),
        *([partial(handover.pause, speakers[holder], reason=dialog.name)] if holder else []),
        *handover.straight(dialog, state, loser=holder or SUPERVISOR),
    ]


def home(holder: str | None, speakers: Speakers) -> list[Move]:
    """Interrupt the dialog, if one leads; the answer only confirms it."""
    leave = [partial(handover.pause, speakers[holder], reason="home")] if holder else []
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
    if switched["dialog"] == SUPERVISOR:
        return _entry_taken_back(switched, state, speakers)
    dialog, holder = speakers[switched["dialog"]], state.get("dialog")
    heard: Heard = {**state["heard"], "text": switched["heard"]["text"]}
    # What the wrong dialog has written goes with the switch.
    undoing = switched["heard"]["id"]
    wishes: list[Wish] = [{**wish, "left": False} for wish in state.get("wishes", [])]
    back: list[Move] = [
        decision("undo", "switch", dialog.name, "the user took the switch back", "free"),
        *([partial(handover.finish, speakers[holder], reason="taken back")] if holder else []),
    ]
    if heard["text"] is None:
        # The dialog was left by a name alone, so there is no message for it: it says where it stood.
        return [*back, put({"undoing": undoing}), partial(handover.resume, dialog), give_to(None)]
    return [
        *back,
        partial(handover.resume, dialog, silently=True),
        put({"heard": heard, "listener": dialog.name, "undone": True, "wishes": wishes, "undoing": undoing}),
    ]


def takes_back(state: State) -> bool:
    """Tell whether a message takes back what was written: plainly, or by a word that means so right after a write."""
    text = state["heard"]["text"] or ""
    return is_said("take_back", text) or (_has_just_written(state) and is_said("take_back_now", text))


def _entry_taken_back(switched: Switch, state: State, speakers: Speakers) -> list[Move]:
    """Let the supervisor's model decide on the message that went straight to a dialog."""
    holder = state.get("dialog")
    heard: Heard = {**state["heard"], "text": switched["heard"]["text"]}
    return [
        decision("undo", "supervisor", None, "the user took the switch back", "free"),
        *([partial(handover.finish, speakers[holder], reason="taken back")] if holder else []),
        put({"heard": heard, "listener": SUPERVISOR, "undoing": switched["heard"]["id"]}),
    ]


def _has_just_written(state: State) -> bool:
    return state.get("wrote") == state["turn"] - 1


def _at_home(state: State) -> Change:
    text = phrase("home", state["lang"])
    spoken, events = say(SUPERVISOR, text)
    heard = human(state["heard"], state["lang"])
    return {**spoken, "talks": {SUPERVISOR: {"add": [heard, AIMessage(text)]}}, "listener": None}, events
