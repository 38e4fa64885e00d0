"""What a user may have deleted in words: "delete my profile", "forget everything you know about me"; always asked."""

from functools import cache
from typing import get_args

from agents.conversation.changes import Change, say
from agents.events import Forgetting
from agents.language.text.phrases import is_said
from agents.language.text.vocabulary import listening, vocabulary
from agents.state import State, holder_of
from agents.state.person import Forgettable
from prompts import form_texts, phrase, table

WHOLE = ("profile", "me")
"""What is asked for in phrases of its own."""


def heard(state: State) -> Change | None:
    """Return what a message changes if it asks to forget something, or answers whether it shall be; else None."""
    text, lang, speaker = state["heard"]["text"] or "", state["lang"], holder_of(state)
    if what := state.get("forgetting"):
        if is_said("yes", text) or is_said("agree", text):
            return {"listener": None}, [Forgetting(what=what)]
        if is_said("no", text):
            spoken, events = say(speaker, phrase("forget_not", lang))
            return {**spoken, "listener": None}, events
    if what := _asked_for(text, listening(text, lang)):
        question = f"{worded('forget', what, lang)} {phrase('forget_sure', lang)}"
        spoken, events = say(speaker, question)
        return {**spoken, "listener": None, "forgetting": what}, events
    return None


def worded(key: str, what: str, lang: str) -> str:
    """Return the sentence on what is, or was ("forgotten"), deleted; one serves for all single things."""
    if what in WHOLE:
        return phrase(f"{key}_{what}", lang)
    named = table("texts", lang).get(f"setting_{what}")
    field = named or form_texts("profile", lang).get(what, {}).get("label", what)
    return phrase(f"{key}_field", lang, field=field)


def _asked_for(text: str, lang: str) -> Forgettable | None:
    """Return what a text asks to forget, and nothing beside, however politely."""
    words = vocabulary(lang)
    key = words.key(text)
    begun = next((start for start in _keys("openings", lang) if key[: len(start)] == start), ())
    kinds: tuple[Forgettable, ...] = get_args(Forgettable)
    return next((what for what in kinds if {key, key[len(begun) :]} & _wishes(what, lang)), None)


@cache
def _wishes(what: Forgettable, lang: str) -> frozenset[tuple[str, ...]]:
    """Return how people ask to forget something; of one thing every verb may be said, with the profile or without."""
    if what in WHOLE:
        return _keys(what, lang)
    ends = {(), *_keys("from", lang)}
    return frozenset(
        (*verb, *name, *end) for verb in _keys("verbs", lang) for name in _keys(f"field.{what}", lang) for end in ends
    )


@cache
def _keys(what: str, lang: str) -> frozenset[tuple[str, ...]]:
    words = vocabulary(lang)
    return frozenset(words.key(entry) for entry in words.phrases(f"forget.{what}"))
