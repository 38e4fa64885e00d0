"""The commands of the conversation: begin, stop, go on, try again, undo, change the conversation, attach files."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

from agents.memory.thread_list import MOST_LISTED
from agents.state.person import ASR
from app.composition.supervisor_tools import ability
from app.doors.visit import Visit
from app.presentation.lines import columns, first_line, moment, own_thread_lines
from app.presentation.texts import say

UNDO = "undo"
"""The message that takes the last write back, in every language."""
MOST_TOLD = 30
"""The most conversations in one list."""
PLACE = re.compile(r"#(\d{1,15})(?:\s+|$)")
"""A place in a list of threads; the words of a search may follow."""


async def start(visit: Visit, argument: str, lang: str) -> str:
    """Let the assistant speak first, or greet in a conversation that goes on."""
    if await _has_begun(visit):
        greeting = "" if visit.is_shared else await visit.assistant.greeting(visit.owner, lang)
        return "\n\n".join(filter(None, [greeting, say("reply.started_before", lang)]))
    await visit.play(visit.turn(None))
    return ""


async def stop(visit: Visit, argument: str, lang: str) -> str:
    """Stop the running answer."""
    return "" if await visit.door.stop(visit.thread) else say("reply.nothing_to_stop", lang)


async def dialogs(visit: Visit, argument: str, lang: str) -> str:
    """Tell the abilities of each dialog."""
    dialogs = await any_dialog(visit, lang)
    if visit.door.has_pages:
        return "\n".join(f"/go {name} – {able}" for name, able in dialogs.items())
    return "\n".join(columns(dialogs.items()))


async def any_dialog(visit: Visit, lang: str | None = None) -> Mapping[str, str]:
    """Return the dialogs, with their abilities in the user's language."""
    lang = lang or visit.lang
    if lang is None:
        return visit.assistant.dialogs
    return {name: ability(name, use, lang).rstrip(";") for name, use in visit.assistant.dialogs.items()}


async def go(visit: Visit, argument: str, lang: str) -> str:
    """Go to a dialog, or let the assistant go on."""
    if argument and argument not in visit.assistant.dialogs:
        return say("reply.no_dialog", lang, name=argument, known=", ".join(visit.assistant.dialogs))
    # A message with only a dialog's name leads to that dialog. The active dialog simply goes on.
    text = argument if argument and argument != visit.speaker else None
    await visit.play(visit.turn(text, source="command"))
    return ""


async def undo(visit: Visit, argument: str, lang: str) -> str:
    """Take the last write back."""
    await visit.play(visit.turn(UNDO, source="command"))
    return ""


async def retry(visit: Visit, argument: str, lang: str) -> str:
    """Answer the last message anew; a failed one goes on from its failure."""
    last = await visit.assistant.last_message(visit.thread, visit.owner)
    if last is None or (last.source == "command" and last.text and last.status != "failed"):
        return say("reply.nothing_to_retry", lang)
    quoted = json.loads(last.quoted or "[]")
    if last.status == "failed":
        # Under its own id, the message goes on from its failure, and does nothing twice.
        turn = visit.turn(last.text, source=last.source, id=last.message_id, quoted=quoted)
    else:
        spoken_or_typed = last.source if last.source == ASR else "message"
        turn = visit.turn(last.text, source=spoken_or_typed if last.text else "command", quoted=quoted)
    await visit.play(turn)
    return ""


async def new(visit: Visit, argument: str, lang: str) -> str:
    """Begin another conversation, or go to an existing one."""
    # The user stays the same: the other thread has the same data of them.
    visit.user = visit.owner
    visit.thread = await visit.door.begin(visit, argument)
    if not await _has_begun(visit):
        await visit.play(visit.turn(None))
    return visit.door.here(visit.thread, lang)


async def threads(visit: Visit, argument: str, lang: str) -> str:
    """List one's conversations by their first line and the time of the last: the latest, or those with some words.

    The number behind a "#" is a place in the list; only the conversations behind it are listed.
    """
    place = PLACE.match(argument)
    words, before = (argument[place.end() :], int(place[1])) if place else (argument, None)
    page = await visit.assistant.memory.threads.page(visit.owner, words=words, before=before, most=MOST_TOLD)
    named = {info.thread: visit.door.named(info.thread) for info in page.rows}
    # People who read along here must not see messages from elsewhere.
    shown = [info for info in page.rows if named[info.thread] or not visit.is_shared]
    lines = own_thread_lines(shown, [named[info.thread] or say("elsewhere", lang) for info in shown])
    if page.next:
        return "\n".join([*lines, say("more_threads", lang, way=f"/threads #{page.next} {words}".rstrip())])
    return "\n".join(lines or [say("no_threads", lang)])


async def any_thread(visit: Visit) -> Mapping[str, str]:
    """Return one's latest conversations, with their first lines."""
    infos = await visit.assistant.threads(visit.owner, most=MOST_LISTED)
    return {info.thread: f"{moment(info.active_ms)}  {first_line(info)}" for info in infos}


async def _has_begun(visit: Visit) -> bool:
    return bool(await visit.state() or await visit.assistant.last_message(visit.thread, visit.owner))


async def attach(visit: Visit, argument: str, lang: str) -> str:
    """Note a file for the next message."""
    path = file_at(argument)
    if path is None:
        return say("no_file", lang, name=argument or "?")
    visit.files.append(path)
    return say("reply.attached", lang, names=", ".join(path.name for path in visit.files))


def file_at(name: str) -> Path | None:
    """Return the file of this machine with the user's name for it; None if there is no such file."""
    try:
        path = Path(name).expanduser().resolve()
        return path if path.is_file() else None
    except (OSError, RuntimeError, ValueError):
        # Causes: a missing home directory, a loop of links, a name with NUL.
        return None
