"""`import`: the events of an iCalendar file become reminders."""

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from agents.errors import UsageError
from agents.language.schedule.wording import worded
from agents.memory import Memory
from agents.memory.preferences import zone_of_user
from agents.memory.reminder_row import Reminder
from agents.memory.undo_log import ToolWrite
from agents.toolkit.command_line import CommandResult
from agents.tools.kept_reminders import REMINDERS
from agents.tools.reminders import add_reminder
from app.calendar_file import OURS, Found, entries, uid_of
from app.cli.options import DEFAULT_THREAD, Lang, Thread, User
from app.composition import open_assistant
from app.sentences import say
from app.settings import read_settings

SPEAKER = "planner"
"""Whose reminders these are, so that "undo" in the conversation takes them back."""

MOST_LISTED = 20
"""Entries that are named of those that were left out; with `--json` all are."""


@dataclass(frozen=True)
class Imported:
    """What became of an entry: the reminder that was set, or why there is none."""

    found: Found
    reminder: Reminder | None = None
    why: str = ""


async def import_calendar(
    file: Annotated[str, typer.Argument(metavar="FILE.ics")],
    *,
    thread: Thread = DEFAULT_THREAD,
    user: User = None,
    lang: Lang = None,
) -> CommandResult:
    """Set a reminder for each event of an iCalendar file.

    Raises:
        UsageError: the file cannot be read, or is no calendar.
    """
    settings = read_settings()
    lang, user = lang or settings.app_lang, user or thread
    source = _read(Path(file), lang)
    async with open_assistant(settings, remote=False) as assistant:
        memory = assistant.memory
        now, zone = datetime.fromtimestamp(memory.reminders.now(), UTC), await zone_of_user(memory.store, user)
        try:
            calendar_entries = await asyncio.to_thread(entries, source, zone, now)
        except ValueError as fault:
            raise UsageError(say("calendar.unreadable", lang, path=file, why=fault)) from None
        message = f"import-{hashlib.sha256(source).hexdigest()[:24]}-{now.timestamp():.0f}"
        async with memory.locks.hold(thread):
            outcome = [await _take(memory, thread, user, message, entry, lang) for entry in calendar_entries]
    plain = [
        {"text": it.found.text, "number": it.reminder.number if it.reminder else None, "why": it.why or None}
        for it in outcome
    ]
    return CommandResult(plain, _lines(outcome, lang))


def _read(path: Path, lang: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as fault:
        raise UsageError(say("calendar.unreadable", lang, path=path, why=fault.strerror or fault)) from None


async def _take(memory: Memory, thread: str, user: str, message: str, entry: Found, lang: str) -> Imported:
    """Set the reminder of an entry, or bring the one that it has set before up to date."""
    if entry.moment is None:
        return Imported(entry, why=say(f"calendar.{entry.why}", lang))
    live = await memory.reminders.live(user)
    if entry.uid.endswith(OURS) and entry.uid in {uid_of(reminder, user) for reminder in live}:
        return Imported(entry, why=say("calendar.known", lang))
    text = entry.text
    if entry.starts is not None:
        text = say("calendar.begins", lang, text=text, time=f"{entry.starts:%H:%M}")
    key = f"ics-{hashlib.sha256(entry.uid.encode()).hexdigest()[:32]}"
    before = next((reminder for reminder in live if reminder.added_by == key), None)
    if before is not None and (before.text, before.moment) == (text, entry.moment):
        return Imported(entry, why=say("calendar.known", lang))
    try:
        if before is not None:
            call = f"{message}-{key}"
            await memory.reminders.change(before, call, text=text, moment=entry.moment)
        else:
            await memory.reminders.add(user, thread, key, text=text, lang=lang, moment=entry.moment)
    except UsageError:
        return Imported(entry, why=say("calendar.full", lang))
    after = next((reminder for reminder in await memory.reminders.with_keys(user, [key])), None)
    if after is None:
        # It was set by an import before and deleted by the user.
        return Imported(entry, why=say("calendar.deleted", lang))
    write = ToolWrite(thread=thread, user=user, message=message, speaker=SPEAKER, tool=add_reminder.name, call=key)
    await memory.undo.enter(write, REMINDERS.name, {key: (before.values() if before else None, after.values())})
    return Imported(entry, after)


def _lines(outcome: Sequence[Imported], lang: str) -> list[str]:
    """Return what was set, and what was left out; of what is past only how much."""
    reminders = [it.reminder for it in outcome if it.reminder]
    past = sum(it.found.why == "past" for it in outcome)
    left = [it for it in outcome if not it.reminder and it.found.why != "past"]
    lines = [say("calendar.set", lang, count=len(reminders))]
    lines += [f"  {reminder.number}. {reminder.text}: {worded(reminder.moment, lang)}" for reminder in reminders]
    lines += [say("calendar.left", lang, count=len(left))] if left else []
    lines += [f"  {it.found.text}: {it.why}" for it in left[:MOST_LISTED]]
    lines += ["  …"] if len(left) > MOST_LISTED else []
    return [*lines, *([say("calendar.past_count", lang, count=past)] if past else [])]
