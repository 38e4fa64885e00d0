"""The commands on a person's data: show them, hand them out, set a preference, delete them."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import accumulate
from typing import get_args

from agents.conversation.deletion import EVERYTHING, worded
from agents.errors import Undeleted, UsageError
from agents.memory.deletions import NOT_ALL
from agents.memory.inbox import TOLD
from agents.memory.preferences import Busy
from agents.memory.store import namespace_of
from app.doors.slash_commands.personal_data import as_json, as_markdown, personal_data
from app.doors.visit import Visit
from app.presentation.lines import history_lines, state_of_talk
from app.presentation.texts import say, shortened
from prompts import language, languages, phrase, title_of

YES = "yes"
OF_PLACE = ("thread", "part", "all")
"""The scopes of `/forget` that belong to a place. The others belong to a person."""
MODES = get_args(Busy)
JSON = "json"
MOST_LINES, LONGEST_PAGE, LONGEST_LINE = 20, 3000, 700
"""The most lines and characters of a page of the history, and the most characters of a line on it."""


async def state(visit: Visit, argument: str, lang: str) -> str:
    """Tell the state of the conversation."""
    facts = await visit.state()
    if visit.is_shared:
        lines = await visit.assistant.history(visit.thread, visit.owner)
        facts["turn"] = len({line.message_id for line in lines if line.metadata.get("source") not in TOLD})
    return "\n".join(state_of_talk(facts, lang)) if facts.get("turn") else say("reply.nothing_yet", lang)


async def history(visit: Visit, argument: str, lang: str) -> str:
    """Show the conversation; on a small screen one page of it, counted from the end."""
    lines = await visit.assistant.history(visit.thread, visit.owner)
    if not lines:
        return say("reply.nothing_yet", lang)
    shown = history_lines(lines, lang)
    if not visit.door.has_pages:
        return "\n".join(shown)
    pages, number = history_pages(shown, argument)
    head = [say("history.page", lang, page=number, pages=len(pages))] if len(pages) > 1 else []
    return "\n".join([*head, *pages[number - 1]])


async def export(visit: Visit, argument: str, lang: str) -> str:
    """Hand out all data of a person, as a document to read or (`json`) to process."""
    if argument not in ("", JSON):
        return say("reply.export_what", lang)
    now = datetime.now(UTC)
    data = await personal_data(visit.assistant, visit.owner, lang)
    content = as_json(data) if argument else as_markdown(data, lang)
    return await visit.door.hand(f"export-{now:%Y-%m-%d}.{JSON if argument else 'md'}", content, lang)


async def privacy(visit: Visit, argument: str, lang: str) -> str:
    """Tell the kept data, the time for which they are kept, and the way to delete them."""
    return say("reply.privacy", lang, forms=_forms(visit, lang)).strip()


async def forget(visit: Visit, argument: str, lang: str) -> str:
    """Delete data, after a yes."""
    *words, last = argument.lower().split() or [""]
    what = " ".join([*words, *([last] if last != YES else [])])
    if what and what not in await anything_kept(visit):
        return say("reply.forget_what", lang, forms=_forms(visit, lang))
    is_shared = await visit.assistant.forgetting.is_shared(visit.thread, visit.owner)
    scope = what or ("part" if is_shared else "thread")
    if last != YES:
        command = " ".join(["/forget", *what.split(), YES])
        return f"{_worded('forget', scope, lang)} {say('reply.forget_yes', lang, command=command)}"
    visit.speaker = visit.question = None
    try:
        was_known = await _forgotten(visit, scope)
    except UsageError:
        # All rows are gone; only their bytes wait for another reader of the file to close it.
        was_known = True
    except Undeleted:
        return worded("forgotten", NOT_ALL, lang)
    return _worded("forgotten", scope, lang) if was_known else say("reply.nothing_yet", lang)


async def anything_kept(visit: Visit) -> Mapping[str, str]:
    """Return the data that can be deleted beside this conversation."""
    return dict.fromkeys((*_remembered(visit), EVERYTHING, "all"), "")


def _remembered(visit: Visit) -> Sequence[str]:
    return [dialog.name for dialog in visit.assistant.speakers.remembered()]


def _forms(visit: Visit, lang: str) -> str:
    return "".join(f", /forget {name} ({title_of(name, lang)})" for name in _remembered(visit))


def _worded(key: str, scope: str, lang: str) -> str:
    return phrase(f"{key}_{scope}", lang) if scope in OF_PLACE else worded(key, scope, lang)


async def _forgotten(visit: Visit, scope: str) -> bool:
    if scope == "thread":
        return await visit.assistant.forgetting.thread(visit.thread)
    if scope == "all":
        # People keep their own data, even if only one wrote here.
        return await visit.assistant.forgetting.thread(visit.thread, keeps_people=True)
    if scope == "part":
        return await visit.assistant.forgetting.part(visit.thread, visit.owner)
    await visit.assistant.forgetting.forget(visit.owner, scope)
    return True


def history_pages(lines: Sequence[str], number_text: str) -> tuple[list[list[str]], int]:
    """Return a conversation in pages, newest first, and the number of the requested page; long lines are cut."""
    pages: list[list[str]] = []
    page = [shortened(line, LONGEST_LINE) for line in lines]
    while page:
        lengths = accumulate(len(line) for line in reversed(page[-MOST_LINES:]))
        count = max(1, sum(length <= LONGEST_PAGE for length in lengths))
        pages.append(page[-count:])
        page = page[:-count]
    number = int(number_text[:6]) if number_text.isdecimal() else 1
    return pages, min(max(1, number), len(pages))


async def lang(visit: Visit, argument: str, lang: str) -> str:
    """Set the language, by its code or its name."""
    there_are = ", ".join(_own_name(code) for code in languages())
    chosen = next((code for code in languages() if argument.casefold() in _names(code)), None)
    if argument and chosen is None:
        return say("unknown_lang", lang, lang=argument, known=there_are)
    if chosen:
        visit.lang = chosen
        await visit.assistant.speak(visit.owner, chosen)
    spoken = visit.lang or lang
    return say("reply.lang_is", spoken, lang=_own_name(spoken), known=there_are)


async def any_language(visit: Visit) -> Mapping[str, str]:
    """Return the languages, by their codes."""
    return {code: _own_name(code) for code in languages()}


async def busy(visit: Visit, argument: str, lang: str) -> str:
    """Set the effect of a new message during an answer to its writer."""
    store = visit.assistant.memory.store
    if argument in MODES:
        await store.aput(namespace_of(visit.owner, "settings"), "busy", {"mode": argument})
    elif argument:
        return say("reply.busy_unknown", lang, mode=argument, known=", ".join(MODES))
    mode = (await visit.assistant.preferences(visit.owner)).busy
    return say("reply.busy_is", lang, what=say(f"busy.{mode}", lang))


def _own_name(code: str) -> str:
    return (language(code).names or (code,))[0].capitalize()


def _names(code: str) -> set[str]:
    return {code, *(name.casefold() for name in language(code).names)}
