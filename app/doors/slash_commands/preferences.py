"""The commands that set something: the language, and what a new message does to the answer before it."""

from collections.abc import Mapping
from typing import get_args

from agents.memory.preferences import Busy
from agents.memory.store import namespace_of
from app.doors.visit import Visit
from app.texts import say
from prompts import language, languages

MODES = get_args(Busy)


async def lang(visit: Visit, argument: str, lang: str) -> str:
    """Speak a language, which is called by its code or its name."""
    there_are = ", ".join(_own_name(code) for code in languages())
    chosen = next((code for code in languages() if argument.casefold() in _names(code)), None)
    if argument and chosen is None:
        return say("unknown_lang", lang, lang=argument, known=there_are)
    if chosen:
        visit.lang = chosen
        await visit.assistant.speak(visit.owner, chosen)
    spoken = visit.lang or lang
    return say("reply.lang_is", spoken, lang=_own_name(spoken), known=there_are)


async def lang_picks(visit: Visit, argument: str, lang: str) -> Mapping[str, str]:
    """Offer the languages by the names that they give themselves."""
    return {} if argument else {f"/lang {code}": _own_name(code) for code in languages()}


async def any_language(visit: Visit) -> Mapping[str, str]:
    """Return the languages, by their codes."""
    return {code: _own_name(code) for code in languages()}


async def busy(visit: Visit, argument: str, lang: str) -> str:
    """Set what a new message does while its writer is being answered."""
    store = visit.assistant.memory.store
    if argument in MODES:
        await store.aput(namespace_of(visit.owner, "settings"), "busy", {"mode": argument})
    elif argument:
        return say("reply.busy_unknown", lang, mode=argument, known=", ".join(MODES))
    mode = (await visit.assistant.preferences(visit.owner)).busy
    return say("reply.busy_is", lang, what=say(f"busy.{mode}", lang))


async def busy_picks(visit: Visit, argument: str, lang: str) -> Mapping[str, str]:
    """Offer what a new message can do."""
    return {} if argument else {f"/busy {mode}": say(f"busy.{mode}_button", lang) for mode in MODES}


def _own_name(code: str) -> str:
    return (language(code).names or (code,))[0].capitalize()


def _names(code: str) -> set[str]:
    return {code, *(name.casefold() for name in language(code).names)}
