"""Decisions by the user's own words, without a model: a name, a plain wish, home, back again, a yes to an offer."""

import re
from typing import Literal

from langchain_core.messages import AIMessage, HumanMessage
from pydantic import BaseModel

from agents.conversation import handover
from agents.conversation.changes import Change
from agents.conversation.gate.features import asks, last_question, request
from agents.conversation.prompt import human
from agents.conversation.scene import Scene, scene_of
from agents.language.text.stems import spelt, stems, words
from agents.language.text.vocabulary import (
    behind_no,
    instead,
    is_said,
    listening,
    mentions,
    says,
    small_words,
    spoken_in,
    takes_leave,
    vocabulary,
    wishes,
)
from agents.state import SUPERVISOR, State, holder_of, messages_of
from agents.state.history import last_reply
from agents.state.message_notes import notes, notes_of
from agents.state.person import Switch, UserMessage, Wish
from agents.state.verdict import because
from agents.toolkit.questions.form import permitted
from agents.toolkit.speaker import Speaker, Speakers
from prompts import form_texts, phrase, title_of

Answer = Literal["yes", "no"]
NUMBER = re.compile(r"[#№]?\d{1,6}[.)]?|\d{4}-\d\d-\d\d|\d{1,2}[:.]\d\d([.:]\d{2,4})?")


def called_by_name(change: Change, dialog: Speaker, speakers: Speakers) -> None:
    """Begin the dialog that the user called by its name; the name itself needs no answer, and can be taken back."""
    holder = change.state.get("dialog")
    heard: UserMessage = {**change.state["heard"], "text": None}
    switched: Switch | None = {"dialog": holder, "heard": heard} if holder else None
    change.decide("name", "switch", because("by_name"), dialog.name)
    handover.interrupt(change, speakers, dialog.name)
    handover.take_over(change, dialog, brief="")
    change.put(heard=heard, listener=dialog.name, switched=switched)


def entered(change: Change, dialog: Speaker, speakers: Speakers) -> None:
    """Give the message to the dialog that it plainly asks for, without a model."""
    loser = holder_of(change.state)
    change.decide("shortcut", "switch", because("asks_for", name=dialog.name), dialog.name)
    handover.interrupt(change, speakers, dialog.name)
    handover.hand_off_directly(change, dialog, loser=loser)


def missed(change: Change, dialog: Speaker) -> None:
    """Tell the user that the wanted dialog is not offered, since it does not fit its model."""
    change.decide("name", "stay", because("misfit", name=dialog.name))
    lang = change.state["lang"]
    answer(change, phrase("dialog_missed", lang, title=title_of(dialog.name, lang)))


def home(change: Change, speakers: Speakers) -> None:
    """Interrupt the dialog, if one leads; the answer only confirms it."""
    change.decide("home", "supervisor", because("home"))
    handover.interrupt(change, speakers, "home")
    answer(change, phrase("home", change.state["lang"]))


def answer(change: Change, text: str, speaker: str = SUPERVISOR, served: str = "") -> None:
    """Answer the message in a speaker's name; no model is asked.

    `served` names the service for the message, such as an undo: an open question then stays open.
    """
    marks = notes(served=served) if served else {}
    change.say(speaker, text)
    change.add(speaker, human(change.state["heard"], change.state["lang"]), AIMessage(text, additional_kwargs=marks))
    change.put(listener=None)


def leave(change: Change, dialog: Speaker) -> None:
    """End the dialog to which the user says goodbye, with a sentence; the other wishes are only offered."""
    state, lang, reason = change.state, change.state["lang"], because("leave")
    is_goodbye = "goodbye" in takes_leave(state["heard"]["text"] or "", lang)
    change.decide("leave", "finished", reason)
    handover.finish(change, dialog, reason)
    answer(change, phrase("left_for_good" if is_goodbye else "left_dialog", lang))
    wishes: list[Wish] = [{**wish, "left": True} for wish in state.get("wishes", [])]
    # "Undo" calls the dialog back before it takes back a write.
    change.put(wishes=wishes, switched={"dialog": dialog.name, "heard": state["heard"]})
    if not is_goodbye:
        change.put(verdict={"kind": "finished", "target": None, "reason": reason})


def is_leave(scene: Scene, *, halts: bool) -> bool:
    """Tell whether words of goodbye can be nothing else: neither an answer to the question, nor an order.

    `halts`: "stop" may be for an activity of the dialog, "never mind" for its question.
    """
    text, lang, question = scene.text, scene.lang, last_question(scene.reply or "")
    lists = takes_leave(text, lang)
    if not lists or (halts and (says("halt", text, lang) or says("cancel", text, lang))):
        return False
    is_more = mentions("anything_else", question, lang) is not None
    if "goodbye" in lists or (is_more and mentions("offering", question, lang)):
        return True
    is_answer = not {*stems(text, lang)}.isdisjoint({*stems(question, lang)} - small_words(lang))
    if "yes" in lists or is_answer or "leave" in lists:
        # "Yes, that's it" may confirm.
        return not ("yes" in lists or is_answer)
    # "Done" and "all" answer many things, and "that is all" whether there is anything else.
    is_short = len(vocabulary(listening(text, lang)).key(text)) == 1 or is_said("ready", text)
    return not (is_more if "enough" in lists else question or is_short)


def is_taken_back(switched: Switch, state: State, speakers: Speakers) -> bool:
    """Tell whether the user takes a switch back; "go on" alone takes nothing back if no dialog was left."""
    if takes_back(state) and _has_just_written(state):
        # "Undo" means the write, and the message that caused it is wished for no more.
        return False
    text, lang = state["heard"]["text"] or "", state["lang"]
    if switched["dialog"] == SUPERVISOR:
        return says("mistaken", text, lang)
    return switched["dialog"] in speakers.dialogs and says("undo", text, lang)


def taken_back(change: Change, switched: Switch, speakers: Speakers) -> None:
    """Give the message that caused a switch back to the speaker that lost it."""
    loser, holder = switched["dialog"], change.state.get("dialog")
    is_home, reason = loser == SUPERVISOR, because("taken_back")
    change.decide("undo", "supervisor" if is_home else "switch", reason, None if is_home else loser)
    if holder:
        handover.finish(change, speakers[holder], reason="taken back")
    # The writes of the wrong dialog are taken back with the switch.
    change.put(undoing=switched["heard"]["id"])
    heard: UserMessage = {**change.state["heard"], "text": switched["heard"]["text"]}
    if is_home:
        # The supervisor's model decides on a message that went straight to a dialog.
        change.put(heard=heard, listener=SUPERVISOR)
    elif heard["text"] is None:
        # The dialog was left by a name alone, so there is no message for it: it repeats its last question.
        handover.resume(change, speakers[loser])
        change.put(listener=None)
    else:
        handover.resume(change, speakers[loser], silently=True)
        wishes: list[Wish] = [{**wish, "left": False} for wish in change.state.get("wishes", [])]
        change.put(heard=heard, listener=loser, undone=True, wishes=wishes)


def takes_back(state: State) -> bool:
    """Tell whether a message takes a write back: plainly, or by a word that means so right after a write."""
    text = state["heard"]["text"] or ""
    ideas = ["take_back", *(["take_back_now"] if _has_just_written(state) else [])]
    return any(is_said(idea, words) for idea in ideas for words in (text, behind_no(text)))


def does_again(state: State) -> bool:
    """Tell whether a message, right after an undo, takes the undo back."""
    text, is_undone = state["heard"]["text"] or "", state.get("undid") == state["turn"] - 1
    is_redo = vocabulary(listening(text, state["lang"])).means(text, "redo")
    return is_undone and is_redo and not _has_just_written(state)


def recalls(state: State) -> bool:
    """Tell whether a message asks what was just written: "what did you just do?"."""
    text, has_acted = state["heard"]["text"] or "", state["turn"] - 1 in (state.get("wrote"), state.get("undid"))
    parts = vocabulary(listening(text, state["lang"])).made_of(text, "deed.asking", "deed.doing", "deed.when")
    return has_acted and {"deed.asking", "deed.doing"} <= parts


def drops_question(state: State, speakers: Speakers) -> bool:
    """Tell whether "undo" answers a question in words: nothing was written since, and it asks for something."""
    # "Undo" is a yes to the question whether an old write shall go, and "bring it back" never takes anything away.
    is_settled = (
        state.get("undo_asked") or _has_just_written(state) or is_said("bring_back", state["heard"]["text"] or "")
    )
    return not is_settled and awaits_answer(scene_of(speakers[holder_of(state)], state, speakers))


def declines_question(scene: Scene) -> bool:
    """Tell whether "never mind" may be for the dialog's question alone; "stop" is for the dialog."""
    text, lang = scene.text, scene.lang
    return says("cancel", text, lang) and not says("halt", text, lang) and awaits_answer(scene)


def awaits_answer(scene: Scene) -> bool:
    """Tell whether the last reply asks for something, and offers more than any further help."""
    return bool(request(scene.reply or "", scene.lang))


def question_dropped(change: Change) -> None:
    """Say that the question is dropped; nothing older is reached."""
    change.decide("undo", "stay", because("drops_question"))
    answer(change, phrase("undo_question", change.state["lang"]), holder_of(change.state))


def backs_out(text: str) -> bool:
    """Tell whether a message only declines a question, in any language: "no", "never mind", "undo"."""
    return any(is_said(idea, text) for idea in ("no", "cancel", "take_back", "take_back_now"))


def confirms_undo(state: State) -> bool:
    """Tell whether a message agrees to the undo of an old write."""
    text = state["heard"]["text"] or ""
    return bool(state.get("undo_asked")) and (is_said("yes", text) or is_said("agree", text))


def corrects(text: str, state: State) -> bool:
    """Tell whether a message corrects the last write: it says no, and wishes for nothing."""
    lexicon = vocabulary(listening(text, state["lang"]))
    meant = instead(text, lexicon.lang)
    is_begun = lexicon.behind(text, "correcting") or (meant != text and not wishes(meant, lexicon.lang))
    return bool(is_begun) and _has_just_written(state) and lexicon.behind(text, "correcting", "wishing") is None


def corrected(change: Change, dialog: Speaker, speakers: Speakers) -> None:
    """Give a correction to the dialog of the last write, no matter which speaker leads."""
    if dialog.name == (holder := holder_of(change.state)):
        change.decide("correction", "stay", because("corrects"))
        change.put(listener=holder)
        return
    change.decide("correction", "switch", because("corrects"), dialog.name)
    handover.interrupt(change, speakers, dialog.name)
    handover.hand_off_directly(change, dialog, loser=holder)


def may_take_up(dialog: Speaker, state: State, speakers: Speakers) -> bool:
    """Tell whether the question of a paused dialog is the newest; a number is for the speaker that leads."""
    leading = scene_of(speakers[holder_of(state)], state, speakers)
    is_newer = bool(leading.reply and asks(leading.reply) and state.get("offer") != dialog.name)
    return not is_newer and (not state.get("dialog") or NUMBER.fullmatch(leading.text.strip()) is None)


def takes_up(dialog: Speaker, state: State, speakers: Speakers) -> bool:
    """Tell whether a message plainly answers a paused dialog's question in words."""
    scene = scene_of(dialog, state, speakers)
    return bool(scene.reply and asks(scene.reply)) and fits(scene, dialog.form) is not None


def go_on(change: Change, speakers: Speakers) -> None:
    """Go on with the dialog that leads; if it is through, with the one that was paused last."""
    holder, paused = change.state.get("dialog"), handover.last_paused(change.state, speakers)
    if paused is None or (holder and not _is_through(speakers[holder], change.state, speakers)):
        change.decide("go_on", "stay", because("goes_on"))
        change.put(listener=holder)
        return
    change.decide("go_on", "switch", because("goes_on"), paused.name)
    handover.interrupt(change, speakers, paused.name)
    _taken_up(change, paused, speakers)


def _taken_up(change: Change, dialog: Speaker, speakers: Speakers) -> None:
    """Go on with a paused dialog. If it has asked nothing, it hears a "go on" itself: a film may be paused there."""
    says_so = says("go_on", change.state["heard"]["text"] or "", change.state["lang"])
    hears = says_so and not _has_open(dialog, change.state, speakers)
    handover.resume(change, dialog, silently=hears)
    change.put(listener=dialog.name if hears else None)


def _is_through(dialog: Speaker, state: State, speakers: Speakers) -> bool:
    """Tell whether a dialog has just fulfilled its request by a write or a view; a story, or a paused film, goes on."""
    reply = last_reply(messages_of(state, dialog.name), in_words=True)
    served = notes_of(reply).get("served") if reply else None
    is_done = _has_just_written(state) or served in [tool.name for tool in dialog.tools]
    heard = next((it.text for it in reversed(messages_of(state, dialog.name)) if isinstance(it, HumanMessage)), "")
    plays_on = dialog.halts and not says("halt", heard, state["lang"])
    return is_done and not plays_on and not _has_open(dialog, state, speakers)


def _has_open(dialog: Speaker, state: State, speakers: Speakers) -> bool:
    scene = scene_of(dialog, state, speakers)
    return bool(scene.missing or (scene.reply and asks(scene.reply)) or handover.open_question(dialog, state))


def means_last_deed(text: str, state: State) -> bool:
    """Tell whether "it" may be what was just written, or shown without the dialog: a timer that is to stop."""
    reply = last_reply(messages_of(state, holder_of(state)))
    is_shown = bool(reply and notes_of(reply).get("served"))
    return (is_shown or _has_just_written(state)) and mentions("pointing", text, state["lang"]) is not None


def _has_just_written(state: State) -> bool:
    return state.get("wrote") == state["turn"] - 1


def answer_to_offer(text: str, lang: str) -> Answer | None:
    """Return the answer of a text to an offer; None if it speaks of something else."""
    if says("go_on", text, lang) or says("yes", text, lang) or _agrees_to_go_on(text, lang):
        return "yes"
    return "no" if says("no", text, lang) or takes_leave(text, lang) else None


def _agrees_to_go_on(text: str, lang: str) -> bool:
    return vocabulary(lang).made_of(text, "yes", "go_on.phrases") == {"yes", "go_on.phrases"}


def offers_wish(offered: str | None, state: State) -> bool:
    """Tell whether the offered dialog is that of a wish that the user had left, not a paused one."""
    wishes = state.get("wishes", [])
    return bool(offered and wishes and wishes[0].get("left") and wishes[0]["dialog"] == offered)


def offer_answered(change: Change, dialog: Speaker, answer: Answer, speakers: Speakers) -> None:
    """Go on with the offered dialog, or let it go; the same for an offered wish."""
    if offers_wish(dialog.name, change.state):
        _wish_answered(change, dialog, answer, speakers)
    elif answer == "yes":
        change.decide("offer", "switch", because("accepted"), dialog.name)
        _taken_up(change, dialog, speakers)
    else:
        change.decide("offer", "supervisor", because("declined"))
        handover.drop(change, dialog)
        change.put(listener=SUPERVISOR)


def _wish_answered(change: Change, dialog: Speaker, answer: Answer, speakers: Speakers) -> None:
    wish = change.state["wishes"][0]
    change.put(wishes=change.state["wishes"][1:], foreign=wish.get("foreign", False))
    if answer == "no":
        change.decide("offer", "supervisor", because("wish_declined"))
        change.put(listener=holder_of(change.state))
        return
    change.decide("offer", "switch", because("wish_accepted"), dialog.name)
    handover.interrupt(change, speakers, dialog.name)
    handover.take_over(change, dialog, wish["brief"])
    change.put(listener=dialog.name)


def fits(scene: Scene, form: type[BaseModel] | None) -> str | None:
    """Return the reason why a message plainly answers the dialog's last reply; None if it may not be an answer."""
    if scene.reply is None:
        return None
    text = scene.text.strip()
    if asks(scene.reply) and (says("yes", text, scene.lang) or says("no", text, scene.lang)):
        return because("yes_or_no")
    if NUMBER.fullmatch(text):
        return because("number_or_date")
    if form and scene.missing:
        field = scene.missing[0]
        named = form_texts(scene.dialog, scene.lang).get(field, {}).get("values", {})
        values = [
            *map(str, permitted(form.model_fields[field].annotation)),
            *(it for names in named.values() for it in names),
        ]
        if text.strip(" .!").casefold() in map(str.casefold, values):
            return because("choice", field=field)
    return None


def named(text: str, speakers: Speakers, lang: str) -> str | None:
    """Return the dialog that a message names, by its name or title alone or by "go to" it; None if it names none."""
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
    """Tell whether a message plainly is for another speaker than the one whose form is open."""
    lang = state["lang"]
    leaves = vocabulary(listening(text, lang)).means(text, "cancel", "switch.phrases", "home")
    leaves = leaves or backs_out(text) or not takes_leave(text, lang).isdisjoint(("goodbye", "enough", "leave"))
    # A single word ("exit") may well be the value of a field.
    cue = mentions("switch", text, lang) or ""
    # A request for a dialog may well be the value of a field ("plan my week").
    is_shortcut = state.get("shortcut") is not None and speakers.by_tool(state["shortcut"] or "") is None
    return leaves or " " in cue or is_shortcut or named(text, speakers, lang) is not None
