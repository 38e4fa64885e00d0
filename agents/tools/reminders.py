"""The user's reminders, alarms and timers.

A reminder's number never changes, and a call that is repeated after a crash finds its work done.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated
from zoneinfo import ZoneInfo

from langchain_core.tools import tool
from pydantic import Field

from agents.errors import UsageError
from agents.memory.preferences import zone_of_user
from agents.memory.reminder_row import Reminder
from agents.memory.reminders import MOST, Reminders
from agents.schedule.parser import moment
from agents.schedule.reschedule import moved
from agents.schedule.wording import worded
from agents.toolkit import Answer, Entry, Option, Refused, Runtime, choice, result, traits
from agents.tools.paging import Page, page_of
from prompts import phrase

Text = Annotated[str, Field(min_length=1, max_length=500)]
When = Annotated[str, Field(min_length=1, max_length=200)]
Number = Annotated[int, Field(ge=1)]


@traits(effect="write", repeatable=True, volatile=True)
@tool
async def add_reminder(when: When, runtime: Runtime, text: Text | None = None) -> str:
    """Set a reminder, an alarm or a timer; for several, call it for each.

    when: the user's own words for the time, in their language ("in 20 minutes", "tomorrow at 9", "every Monday
    at 9"). text: what to remind of, in the user's words; leave it out for an alarm or a timer.
    """
    lang, table = runtime.state["lang"], reminders_of(runtime)
    at = moment(when, lang, present(runtime), await _zone(runtime))
    if at is None:
        return phrase("reminder_when", lang, when=when)
    text = text or phrase("reminder_time_is_up", lang)
    context = runtime.context
    try:
        added = await table.add(
            context.user, context.thread, runtime.tool_call_id or "", text=text, lang=lang, moment=at
        )
    except UsageError:
        return phrase("reminders_full", lang, most=MOST)
    return phrase("reminder_set", lang, reminder=_line(added, lang))


@traits(view="cards", volatile=True, shortcut=True, private=True)
@tool(response_format="content_and_artifact")
async def list_reminders(runtime: Runtime, page: Page = 1) -> Answer:
    """Show the user's reminders, alarms and timers with their numbers and times, 50 a page."""
    lang, live = runtime.state["lang"], await reminders_of(runtime).live(runtime.context.user)
    entries = [Entry(_worded(reminder, lang), number=reminder.number) for reminder in live]
    view = page_of(entries, page, lang)
    return result(message=view.text() if view and view.title else _lines(live, lang), view=view)


@traits(kind="selector", private=True)
@tool(response_format="content_and_artifact")
async def choose_reminder(runtime: Runtime, numbers: list[Number] | None = None) -> Answer:
    """Let the user choose one of their reminders, when it is unclear which. numbers: those in question; else all."""
    lang, live = runtime.state["lang"], await reminders_of(runtime).live(runtime.context.user)
    chosen = [reminder for reminder in live if numbers is None or reminder.number in numbers]
    options = [Option(_worded(it, lang), {"number": it.number, "text": it.text}, id=str(it.number)) for it in chosen]
    return choice(phrase("which_reminder", lang), options)


@traits(effect="write", repeatable=True, volatile=True)
@tool
async def change_reminder(
    number: Number, runtime: Runtime, text: Text | None = None, when: When | None = None
) -> str:  # fmt: skip
    """Change a reminder: its text, or its time; also put off one that has just rung.

    number: as in the list. when: the user's own words, which may be relative to the reminder's time
    ("ten minutes later", "an hour earlier", "at ten", "on Friday", "every day").
    """
    lang = runtime.state["lang"]
    reminder = await _numbered(number, runtime)
    if reminder is None:
        return await _no_such([number], runtime)
    call = runtime.tool_call_id or ""
    new = None if when is None else moved(when, lang, present(runtime), await _zone(runtime), reminder.moment)
    if when is not None and new is None:
        return phrase("reminder_when", lang, when=when)
    await reminders_of(runtime).change(reminder, call, text=text or reminder.text, moment=new)
    changed = await _numbered(number, runtime) or reminder
    if runtime.context.is_shared and not text:
        # What it is about was perhaps set where nobody else reads.
        changed = replace(changed, text="…")
    return phrase("reminder_set", lang, reminder=_line(changed, lang))


@traits(effect="write", repeatable=True, volatile=True)
@tool
async def delete_reminders(numbers: Annotated[list[Number], Field(min_length=1)], runtime: Runtime) -> str:
    """Delete reminders, alarms or timers. numbers: as in the list."""
    call, table = runtime.tool_call_id or "", reminders_of(runtime)
    gone = [number for number in numbers if not await table.delete(runtime.context.user, number, call)]
    return await _no_such(gone, runtime) if gone else await listed(runtime)


async def _zone(runtime: Runtime) -> ZoneInfo:
    return await zone_of_user(runtime.store, runtime.context.user)


async def _numbered(number: int, runtime: Runtime) -> Reminder | None:
    live = await reminders_of(runtime).live(runtime.context.user)
    return next((reminder for reminder in live if reminder.number == number), None)


def _line(reminder: Reminder, lang: str) -> str:
    return f"{reminder.number}. {_worded(reminder, lang)}"


def _worded(reminder: Reminder, lang: str) -> str:
    rung = f" ({phrase('reminder_rung', lang)})" if reminder.due_ms is None else ""
    return f"{reminder.text}: {worded(reminder.moment, lang)}{rung}"


async def _no_such(numbers: list[int], runtime: Runtime) -> str:
    missing = ", ".join(map(str, numbers))
    return f"{phrase('reminder_unknown', runtime.state['lang'], numbers=missing)}\n{await listed(runtime)}"


def reminders_of(runtime: Runtime) -> Reminders:
    """Return the table of reminders.

    Raises:
        Refused: nothing can ring here.
    """
    reminders = runtime.context.reminders
    if reminders is None:
        # Where nothing rings, none may be promised.
        raise Refused(phrase("reminders_nowhere", runtime.state["lang"]))
    return reminders


def present(runtime: Runtime) -> datetime:
    """Return the present time by the clock that rings."""
    table = runtime.context.reminders
    return datetime.fromtimestamp(int(table.now() if table else time.time()), UTC)


async def listed(runtime: Runtime) -> str:
    """Return the user's reminders in words, one a line; where others read along, only that they are not shown."""
    lang = runtime.state["lang"]
    if runtime.context.is_shared:
        return phrase("list_kept_private", lang)
    return _lines(await reminders_of(runtime).live(runtime.context.user), lang)


def _lines(live: Sequence[Reminder], lang: str) -> str:
    return "\n".join(_line(reminder, lang) for reminder in live) or phrase("reminders_none", lang)
