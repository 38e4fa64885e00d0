"""`python -m app planner …`: reminders leave as an iCalendar file, and the events of such a file become reminders."""

import asyncio
import hashlib
import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from agents.command_line import CommandResult
from agents.errors import UsageError
from agents.language.schedule import Moment
from agents.memory import Memory
from agents.memory.preferences import zone_of_user
from agents.memory.undo_log import ToolWrite
from agents.sources.documents.files import Unreadable, contents
from agents.toolkit.commands import installation_of, services_of
from dialogs.planner.calendar_file import CalendarEntry, calendar, entries, uid_of
from dialogs.planner.records import IMPORTED, OTHERS, Reminder
from dialogs.planner.repeat_wording import worded
from dialogs.planner.store import Reminders
from dialogs.planner.tools.reminder_list import REMINDERS
from dialogs.planner.tools.reminders import add_reminder
from dialogs.planner.wording import said

LOG = logging.getLogger(__name__)
PLANNER = "planner"
"""The dialog that owns the reminders, so that "undo" in the conversation takes them back."""
DEFAULT_THREAD = "me"
MOST_LISTED = 20
"""The most named entries among those left out; `--json` names all."""
LARGEST_CALENDAR = 5_000_000
"""The most bytes of an imported file."""
LOOK_SECONDS = 10.0
"""Seconds between two looks at the reminders for the calendar file."""

UserOption = Annotated[str, typer.Option(help="Whose reminders.")]
command_line = typer.Typer(name=PLANNER, help="Exchange reminders with calendars, as iCalendar files.")


@command_line.command("calendar")
async def print_calendar(
    context: typer.Context,
    *,
    user: UserOption = DEFAULT_THREAD,
    keep: Annotated[Path | None, typer.Option(metavar="FILE", help="Keep it in this file, until stopped.")] = None,
) -> CommandResult:
    """Print a user's reminders as an iCalendar file, or keep such a file up to date."""
    async with services_of(context, reads=keep is None) as services:
        reminders = services.get(Reminders)
        if keep is not None:
            await _keep(reminders, user, keep)
        text = calendar(await reminders.live(user), user, datetime.now(UTC))
    # The lines of a calendar end in both characters.
    return CommandResult({"user": user, "calendar": text}, [text.removesuffix("\n")])


async def _keep(reminders: Reminders, user: str, path: Path) -> None:
    """Keep a user's reminders in a file until cancelled; every change of one writes the file anew."""
    written: list[Reminder] | None = None
    while True:
        live = await reminders.live(user)
        if live != written:
            text = calendar(live, user, datetime.now(UTC))
            try:
                await asyncio.to_thread(_replace, path, text)
            except OSError as fault:
                LOG.warning("%s: %s", path, fault.strerror or fault)
            else:
                written = live
        await asyncio.sleep(LOOK_SECONDS)


def _replace(path: Path, text: str) -> None:
    """Write the file in one step, so that no reader sees a half of it; only its owner may read it."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.touch(0o600)
    fresh.write_bytes(text.encode("utf-8"))
    fresh.replace(path)


@command_line.command("import")
async def import_calendar(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE.ics")],
    *,
    thread: Annotated[str, typer.Option(help="In which conversation they ring.")] = DEFAULT_THREAD,
    user: Annotated[str | None, typer.Option(help="Whose reminders (default: the thread's name).")] = None,
    lang: Annotated[str | None, typer.Option(help="Which language (default: APP_LANG).")] = None,
) -> CommandResult:
    """Set a reminder for each event of an iCalendar file.

    Raises:
        UsageError: the file cannot be read, or is not a calendar.
    """
    lang, user = lang or installation_of(context).lang, user or thread
    try:
        source = await asyncio.to_thread(contents, file, LARGEST_CALENDAR)
    except Unreadable as fault:
        raise UsageError(said("calendar.unreadable", lang, path=file, why=fault)) from None
    async with services_of(context) as services:
        memory, reminders = services.get(Memory), services.get(Reminders)
        now, zone = reminders.present(), await zone_of_user(memory.store, user)
        try:
            calendar_entries = await asyncio.to_thread(entries, source, zone, now)
        except ValueError as fault:
            raise UsageError(said("calendar.unreadable", lang, path=file, why=fault)) from None
        message = f"import-{hashlib.sha256(source).hexdigest()[:24]}-{now.timestamp():.0f}"
        importing = Import(memory, reminders, thread, user, message, lang)
        # The whole import, with the entries for "undo", or nothing; a command's connection has no other user.
        async with memory.locks.hold(thread), memory.database.transaction():
            outcome = [await importing.take(entry) for entry in calendar_entries]
    rows = [
        {
            "text": it.text,
            "number": it.reminder and it.reminder.number,
            "why": it.why and said(f"calendar.{it.why}", lang),
        }
        for it in outcome
    ]
    return CommandResult(rows, _lines(outcome, lang))


@dataclass(frozen=True)
class Import:
    """One import of a file into a thread; for "undo", `message` is the message that caused it."""

    memory: Memory
    reminders: Reminders
    thread: str
    user: str
    message: str
    lang: str

    async def take(self, entry: CalendarEntry) -> CalendarEntry:
        """Set the reminder of an entry, or update the one of a former import."""
        if entry.moment is None:
            return entry
        live = await self.reminders.live(self.user)
        key = f"{IMPORTED}{hashlib.sha256(entry.uid.encode()).hexdigest()[:32]}"
        before = next((reminder for reminder in live if reminder.added_by == key), None)
        text, moment, lang = entry.text, entry.moment, self.lang
        if entry.starts is not None:
            text = said("calendar.begins", lang, text=text, time=f"{entry.starts:%H:%M}")
        if before is not None and before.rule and moment.repeat:
            # Skipped occurrences stay skipped.
            skipped = moment.repeat.skipped | (before.moment.repeat.skipped if before.moment.repeat else frozenset())
            repeat = replace(moment.repeat, skipped=skipped)
            moment = Moment(repeat.following(self.reminders.present()), repeat)
        is_same = before is not None and (before.text, before.moment) == (text, moment)
        if is_same or entry.uid in {uid_of(reminder, self.user) for reminder in live}:
            return replace(entry, why="known")
        try:
            if before is not None:
                after = await self.reminders.change(
                    before, f"{self.message}-{key}", text=text, moment=moment, origin=OTHERS
                )
            else:
                after = await self.reminders.add(
                    self.user, self.thread, key, text=text, lang=lang, moment=moment, origin=OTHERS
                )
        except UsageError:
            return replace(entry, why="full")
        if after.due_ms is None:
            # A former import has set the reminder, and the user has deleted it.
            return replace(entry, why="deleted")
        write = ToolWrite(
            thread=self.thread, user=self.user, message=self.message, speaker=PLANNER, tool=add_reminder.name, call=key
        )
        changes = {key: (before.values() if before else None, after.values())}
        await self.memory.undo.enter(write, REMINDERS.name, changes)
        return replace(entry, reminder=after)


def _lines(outcome: Sequence[CalendarEntry], lang: str) -> list[str]:
    """Return lines on the set reminders and on the entries left out; past events are only counted."""
    reminders = [it.reminder for it in outcome if it.reminder]
    past = sum(it.why == "past" for it in outcome)
    left = [it for it in outcome if not it.reminder and it.why != "past"]
    lines = [said("calendar.set", lang, count=len(reminders))]
    lines += [f"  {reminder.number}. {reminder.text}: {worded(reminder.moment, lang)}" for reminder in reminders]
    lines += [said("calendar.left", lang, count=len(left))] if left else []
    lines += [f"  {it.text}: {said(f'calendar.{it.why}', lang)}" for it in left[:MOST_LISTED]]
    lines += ["  …"] if len(left) > MOST_LISTED else []
    return [*lines, *([said("calendar.past_count", lang, count=past)] if past else [])]
