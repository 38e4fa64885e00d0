"""The buttons below a command's answer: pages of the history, languages, a yes or no, conversations."""

from collections.abc import Awaitable, Callable, Mapping

from app.doors.slash_commands.own_data import MODES, YES, any_language, anything_kept, history_pages
from app.doors.visit import Visit
from app.plugins.telegram.phrases import say
from app.presentation.lines import first_line, history_lines

Offers = Callable[[Visit, str, str], Awaitable[Mapping[str, str]]]
"""Takes the visit, the command's argument and the language; returns what each button sends, with its label."""
KEEP = "-"
"""What the button sends with which the user deletes nothing."""
MOST_THREADS = 10


async def offers(name: str, argument: str, visit: Visit, lang: str) -> Mapping[str, str]:
    """Return what each button below a command's answer sends, with its label."""
    return await OFFERS[name](visit, argument, lang) if name in OFFERS else {}


async def _pages(visit: Visit, argument: str, lang: str) -> Mapping[str, str]:
    """Offer the pages beside this one, and the whole as a document."""
    lines = history_lines(await visit.assistant.history(visit.thread, visit.owner), lang)
    pages, number = history_pages(lines, argument)
    newer = {f"/history {number - 1}": say("newer", lang)} if number > 1 else {}
    older = {f"/history {number + 1}": say("older", lang)} if number < len(pages) else {}
    return {**older, **newer, "/export": say("export", lang)} if older or newer else {}


async def _threads(visit: Visit, argument: str, lang: str) -> Mapping[str, str]:
    """Offer one's other conversations of this place."""
    infos = await visit.assistant.threads(visit.owner, most=MOST_THREADS + 1)
    others = [info for info in infos if info.thread != visit.thread][:MOST_THREADS]
    names = {info: visit.door.named(info.thread) for info in others}
    return {f"/new {name}": first_line(info) for info, name in names.items() if name}


async def _languages(visit: Visit, argument: str, lang: str) -> Mapping[str, str]:
    """Offer the languages by the names that they give themselves."""
    return {} if argument else {f"/lang {code}": name for code, name in (await any_language(visit)).items()}


async def _modes(visit: Visit, argument: str, lang: str) -> Mapping[str, str]:
    """Offer the effects of a new message."""
    return {} if argument else {f"/busy {mode}": say(f"busy_{mode}", lang) for mode in MODES}


async def _confirmation(visit: Visit, argument: str, lang: str) -> Mapping[str, str]:
    """Offer to confirm the deletion, or to keep all."""
    words = argument.lower().split()
    if words[-1:] == [YES] or (words and " ".join(words) not in await anything_kept(visit)):
        return {}
    return {" ".join(["/forget", *words, YES]): say("yes_do_it", lang), KEEP: say("no", lang)}


OFFERS: Mapping[str, Offers] = {
    "history": _pages,
    "threads": _threads,
    "lang": _languages,
    "busy": _modes,
    "forget": _confirmation,
}
