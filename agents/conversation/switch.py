"""What the user's own words settle without a model: a name, a plain wish, home, back again, a yes to an offer."""

import re
from typing import Literal, get_args, get_origin

from langchain_core.messages import AIMessage
from pydantic import BaseModel

from agents.conversation import handover
from agents.conversation.changes import Change
from agents.conversation.gate.features import asks, last_question
from agents.conversation.prompt import human
from agents.conversation.scene import Scene, scene_of
from agents.language.text.stems import spelt, stems, words
from agents.language.text.vocabulary import (
    behind_no,
    is_said,
    listening,
    mentions,
    says,
    small_words,
    spoken_in,
    takes_leave,
    vocabulary,
)
from agents.state import SUPERVISOR, State, holder_of
from agents.state.message_notes import notes
from agents.state.person import Heard, Switch, Wish
from agents.toolkit.speaker import Speaker, Speakers
from prompts import phrase, title_of

Answer = Literal["yes", "no"]
NUMBER = re.compile(r"[#№]?\d{1,6}[.)]?|\d{4}-\d\d-\d\d|\d{1,2}[:.]\d\d([.:]\d{2,4})?")


def called_by_name(change: Change, dialog: Speaker, speakers: Speakers) -> None:
    """Begin the dialog that the user called by its name; the name itself needs no answer, and can be taken back."""
    holder = change.state.get("dialog")
    heard: Heard = {**change.state["heard"], "text": None}
    switched: Switch | None = {"dialog": holder, "heard": heard} if holder else None
    change.decide("name", "switch", "called by its name", dialog.name)
    handover.interrupt(change, speakers, dialog.name)
    handover.take_over(change, dialog, brief="")
    change.put(heard=heard, listener=dialog.name, switched=switched)


def entered(change: Change, dialog: Speaker, speakers: Speakers) -> None:
    """Give the message to the dialog that it plainly asks for; no model is asked whose it is."""
    loser = holder_of(change.state)
    change.decide("shortcut", "switch", f"asks for {dialog.name}", dialog.name)
    handover.interrupt(change, speakers, dialog.name)
    handover.straight(change, dialog, loser=loser)


def missed(change: Change, dialog: Speaker) -> None:
    """Say that the dialog that the message plainly asks for is not offered, since it does not fit its model."""
    change.decide("name", "stay", f"asks for {dialog.name}, which does not fit its model")
    lang = change.state["lang"]
    answer(change, phrase("dialog_missed", lang, title=title_of(dialog.name, lang)))


def home(change: Change, speakers: Speakers) -> None:
    """Interrupt the dialog, if one leads; the answer only confirms it."""
    change.decide("home", "supervisor", "called home")
    handover.interrupt(change, speakers, "home")
    answer(change, phrase("home", change.state["lang"]))


def answer(change: Change, text: str, speaker: str = SUPERVISOR, served: str = "") -> None:
    """Answer the message in a speaker's name; no model is asked.

    `served` says what has served the message, such as an undo: a question that was open then stays open.
    """
    marks = notes(served=served) if served else {}
    change.say(speaker, text)
    change.add(speaker, human(change.state["heard"], change.state["lang"]), AIMessage(text, additional_kwargs=marks))
    change.put(listener=None)


def leave(change: Change, dialog: Speaker) -> None:
    """End the dialog that the user takes leave of, with a sentence; what else was wished for is only offered."""
    state, lang, reason = change.state, change.state["lang"], "the user takes leave"
    is_goodbye = "goodbye" in takes_leave(state["heard"]["text"] or "", lang)
    change.decide("leave", "finished", reason)
    handover.finish(change, dialog, reason)
    answer(change, phrase("left_for_good" if is_goodbye else "left_dialog", lang))
    wishes: list[Wish] = [{**wish, "left": True} for wish in state.get("wishes", [])]
    # "Undo" calls the dialog back before it reaches for what was written.
    change.put(wishes=wishes, switched={"dialog": dialog.name, "heard": state["heard"]})
    if not is_goodbye:
        change.put(verdict={"kind": "finished", "target": None, "reason": reason})


def is_leave(scene: Scene, *, halts: bool) -> bool:
    """Tell whether words that take leave can be nothing else: neither an answer to what was asked, nor an order.

    `halts`: "stop" may be meant for something that the dialog does, "never mind" for a question on the screen.
    """
    text, lang, asked = scene.text, scene.lang, last_question(scene.reply or "")
    lists = takes_leave(text, lang)
    if not lists or (halts and (says("halt", text, lang) or says("cancel", text, lang))):
        return False
    is_more = mentions("anything_else", asked, lang) is not None
    if "goodbye" in lists or (is_more and mentions("offering", asked, lang)):
        return True
    is_answer = not {*stems(text, lang)}.isdisjoint({*stems(asked, lang)} - small_words(lang))
    if "yes" in lists or is_answer or "leave" in lists:
        # "Yes, that's it" may confirm.
        return not ("yes" in lists or is_answer)
    # "Done" and "all" answer many things, and "that is all" whether there is anything else.
    is_short = len(vocabulary(listening(text, lang)).key(text)) == 1 or is_said("ready", text)
    return not (is_more if "enough" in lists else asked or is_short)


def is_taken_back(switched: Switch, state: State, speakers: Speakers) -> bool:
    """Tell whether the user takes a switch back; "go on" alone is no complaint where no dialog was left."""
    text, lang = state["heard"]["text"] or "", state["lang"]
    if switched["dialog"] == SUPERVISOR:
        # "Undo" means what was written there, if anything was.
        return says("mistaken", text, lang) and not (takes_back(state) and _has_just_written(state))
    return switched["dialog"] in speakers.dialogs and says("undo", text, lang)


def taken_back(change: Change, switched: Switch, speakers: Speakers) -> None:
    """Give the message that caused a switch to the speaker it was taken from."""
    loser, holder = switched["dialog"], change.state.get("dialog")
    is_home, reason = loser == SUPERVISOR, "the user took the switch back"
    change.decide("undo", "supervisor" if is_home else "switch", reason, None if is_home else loser)
    if holder:
        handover.finish(change, speakers[holder], reason="taken back")
    # What the wrong dialog has written goes with the switch.
    change.put(undoing=switched["heard"]["id"])
    heard: Heard = {**change.state["heard"], "text": switched["heard"]["text"]}
    if is_home:
        # The supervisor's model decides on a message that went straight to a dialog.
        change.put(heard=heard, listener=SUPERVISOR)
    elif heard["text"] is None:
        # The dialog was left by a name alone, so there is no message for it: it says where it stood.
        handover.resume(change, speakers[loser])
        change.put(listener=None)
    else:
        handover.resume(change, speakers[loser], silently=True)
        wishes: list[Wish] = [{**wish, "left": False} for wish in change.state.get("wishes", [])]
        change.put(heard=heard, listener=loser, undone=True, wishes=wishes)


def takes_back(state: State) -> bool:
    """Tell whether a message takes back what was written: plainly, or by a word that means so right after a write."""
    text = state["heard"]["text"] or ""
    ideas = ["take_back", *(["take_back_now"] if _has_just_written(state) else [])]
    return any(is_said(idea, words) for idea in ideas for words in (text, behind_no(text)))


def backs_out(text: str) -> bool:
    """Tell whether a message only declines what is asked, in any language: "no", "never mind", "undo"."""
    return any(is_said(idea, text) for idea in ("no", "cancel", "take_back", "take_back_now"))


def confirms_undo(state: State) -> bool:
    """Tell whether a message agrees that what was written long ago is taken back."""
    text = state["heard"]["text"] or ""
    return bool(state.get("undo_asked")) and (is_said("yes", text) or is_said("agree", text))


def corrects(text: str, state: State) -> bool:
    """Tell whether a message corrects what was just noted or done: it says no, and wishes for nothing."""
    lexicon = vocabulary(listening(text, state["lang"]))
    is_begun = lexicon.behind(text, "correcting")
    return bool(is_begun) and _has_just_written(state) and lexicon.behind(text, "correcting", "wishing") is None


def corrected(change: Change, dialog: Speaker, speakers: Speakers) -> None:
    """Give a correction to the dialog that has just noted or done something, whoever leads."""
    if dialog.name == (holder := holder_of(change.state)):
        change.decide("correction", "stay", "corrects what was just done")
        change.put(listener=holder)
        return
    change.decide("correction", "switch", "corrects what was just done", dialog.name)
    handover.interrupt(change, speakers, dialog.name)
    handover.straight(change, dialog, loser=holder)


def takes_up(dialog: Speaker, state: State, speakers: Speakers) -> bool:
    """Tell whether a message plainly answers what a paused dialog has asked, and nothing that was asked since."""
    scene, leading = (scene_of(speaker, state, speakers) for speaker in (dialog, speakers.supervisor))
    is_newer = bool(leading.reply and asks(leading.reply) and state.get("offer") != dialog.name)
    return bool(scene.reply and asks(scene.reply)) and not is_newer and fits(scene, dialog.form) is not None


def go_on(change: Change, speakers: Speakers) -> None:
    """Go on with the dialog that leads, or with the one that was paused last."""
    if holder := change.state.get("dialog"):
        change.decide("go_on", "stay", "goes on")
        change.put(listener=holder)
        return
    dialog = speakers[change.state["paused"][-1]]
    change.decide("go_on", "switch", "goes on", dialog.name)
    handover.resume(change, dialog)
    change.put(listener=None)


def _has_just_written(state: State) -> bool:
    return state.get("wrote") == state["turn"] - 1


def answer_to_offer(text: str, lang: str) -> Answer | None:
    """Return what a text answers to an offer; None if it speaks of something else."""
    if says("go_on", text, lang) or says("yes", text, lang):
        return "yes"
    return "no" if says("no", text, lang) or takes_leave(text, lang) else None


def offers_wish(offered: str | None, state: State) -> bool:
    """Tell whether the dialog on offer is that of a wish that was left, not a paused one."""
    wishes = state.get("wishes", [])
    return bool(offered and wishes and wishes[0].get("left") and wishes[0]["dialog"] == offered)


def offer_answered(change: Change, dialog: Speaker, answer: Answer, speakers: Speakers) -> None:
    """Go on with the dialog on offer, or let it go; the same for the wish on offer."""
    if offers_wish(dialog.name, change.state):
        _wish_answered(change, dialog, answer, speakers)
    elif answer == "yes":
        change.decide("offer", "switch", "the user accepted", dialog.name)
        handover.resume(change, dialog)
        change.put(listener=None)
    else:
        change.decide("offer", "supervisor", "the user declined")
        handover.drop(change, dialog)
        change.put(listener=SUPERVISOR)


def _wish_answered(change: Change, dialog: Speaker, answer: Answer, speakers: Speakers) -> None:
    wish = change.state["wishes"][0]
    change.put(wishes=change.state["wishes"][1:], foreign=wish.get("foreign", False))
    if answer == "no":
        change.decide("offer", "supervisor", "the user declined a wish")
        change.put(listener=holder_of(change.state))
        return
    change.decide("offer", "switch", "the user accepted a wish", dialog.name)
    handover.interrupt(change, speakers, dialog.name)
    handover.take_over(change, dialog, wish["brief"])
    change.put(listener=dialog.name)


def fits(scene: Scene, form: type[BaseModel] | None) -> str | None:
    """Return why a message plainly answers the dialog's last reply; None if it may be about something else."""
    if scene.reply is None:
        return None
    text = scene.text.strip()
    if asks(scene.reply) and (says("yes", text, scene.lang) or says("no", text, scene.lang)):
        return "yes or no to a question"
    if NUMBER.fullmatch(text):
        return "a number or date"
    if form and scene.missing:
        annotation = form.model_fields[scene.missing[0]].annotation
        kinds = [annotation, *get_args(annotation)]
        values = [str(value) for kind in kinds if get_origin(kind) is Literal for value in get_args(kind)]
        if text.casefold() in map(str.casefold, values):
            return f"a choice for {scene.missing[0]}"
    return None


def named(text: str, speakers: Speakers, lang: str) -> str | None:
    """Return the dialog whose name or title is all that the message says, or to which it says that the user goes."""
    lexicon = vocabulary(listening(text, lang))
    names = {name: (name, title_of(name, lang)) for name in (*speakers.dialogs, *speakers.absent)}
    name_words = {word for own in names.values() for name in own for word in words(name)}
    text = spelt(text, spoken_in(lexicon.lang, "towards", "fillers") | name_words)
    called = words(text)
    for name, own in names.items():
        if called and (called in map(words, own) or lexicon.leads_to(text, own)):
            return name
    return None


def is_elsewhere(text: str, state: State, speakers: Speakers) -> bool:
    """Tell whether a message plainly is for somebody else than who asked the user to fill something in."""
    lang = state["lang"]
    leaves = vocabulary(listening(text, lang)).means(text, "cancel", "switch.phrases", "home")
    leaves = leaves or not takes_leave(text, lang).isdisjoint(("goodbye", "enough", "leave"))
    # A single word ("exit") may well be part of what is filled in.
    cue = mentions("switch", text, lang) or ""
    # What asks for a dialog may well be filled in ("plan my week").
    is_shortcut = state.get("shortcut") is not None and speakers.by_tool(state["shortcut"] or "") is None
    return leaves or " " in cue or is_shortcut or named(text, speakers, lang) is not None
