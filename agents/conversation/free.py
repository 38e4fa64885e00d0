"""Decisions that cost nothing: what the user's words settle by themselves."""

import re
from typing import Literal, get_args, get_origin

from pydantic import BaseModel

from agents.conversation.gate import asks
from agents.conversation.scene import Scene
from agents.language.text.stems import words
from agents.language.text.vocabulary import listening, mentions, says, vocabulary
from agents.state import State
from agents.toolkit.speaker import Speakers
from prompts import title_of

NUMBER = re.compile(r"[#№]?\d{1,6}[.)]?|\d{4}-\d\d-\d\d|\d{1,2}[:.]\d\d([.:]\d{2,4})?")


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
