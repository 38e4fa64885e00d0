"""The user's reminders, alarms and timers.

A reminder's number never changes, and a call that is repeated after a crash finds its work done.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from langchain_core.tools import tool
from pydantic import Field

from agents.errors import UsageError
from agents.memory.preferences import zone_of_user
from agents.memory.reminder_row import Reminder, columns
from agents.memory.reminders import MOST, Reminders
from agents.schedule import Moment
from agents.schedule.parser import moment
from agents.schedule.reschedule import moved
from agents.schedule.wording import worded
from agents.talk import Json
from agents.toolkit import Answer, Entry, Option, Refused, Runtime, choice, result, traits
from agents.toolkit.undo import begun, entered
from agents.tools.paging import Page, page_of
from agents.tools.todos import asks
from prompts import phrase

Text = Annotated[str, Field(min_length=1, max_length=500)]
When = Annotated[str, Field(min_length=1, max_length=200)]
Number = Annotated[int, Field(ge=1)]


COMPARED = ("text", "zone", "rule", "start")


class KeptReminders:
    """Reminders as they are taken back; the key of one is the call that added it."""

    name = "reminders"

    async def read(self, runtime: Runtime, keys: Sequence[str]) -> Mapping[str, Any]:
        """Return those that are to come, or have just rung."""
        there = await reminders_of(runtime).with_keys(runtime.context.user, keys)
        return {reminder.added_by: reminder.values() for reminder in there}

    async def write(self, runtime: Runtime, key: str, value: Any) -> None:
        """Put one back, or take it away."""
        await reminders_of(runtime).put_back(runtime.context.user, key, value)

    def same(self, one: Any, other: Any) -> bool:
        """Compare what is reminded of, and when; one that repeats moves on by itself."""
        if one is None or other is None:
            return one is other
        names = COMPARED if one["rule"] else (*COMPARED, "at_ms")
        return all(one[name] == other[name] for name in names)

    def worded(self, value: Any, lang: str) -> str:
        """Return a reminder with its number."""
        return _line(Reminder(0, "", "", **value), lang)


REMINDERS = KeptReminders()


async def deletion(args: Json, runtime: Runtime) -> str | None:
    """Word the question before reminders are deleted; empty where others read along, None if there is none."""
    lang, live = runtime.state["lang"], await reminders_of(runtime).live(runtime.context.user)
    lines = [_line(reminder, lang) for reminder in live if reminder.number in args["numbers"]]
    if lines and runtime.context.is_shared:
        return ""
    return phrase("reminders_delete", lang, count=len(lines), items="; ".join(lines)) if lines else None


async def delete(reminders: Sequence[Reminder], runtime: Runtime) -> Sequence[Reminder]:
    """Delete reminders; return them with those that an earlier try of this call has deleted."""
    before = [Reminder(0, "", "", **value) for value, _ in (await begun(runtime, REMINDERS)).values()]
    await entered(runtime, REMINDERS, {it.added_by: (it.values(), None) for it in reminders})
    for reminder in reminders:
        await reminders_of(runtime).delete(runtime.context.user, reminder.number, runtime.tool_call_id or "")
    return [*before, *reminders]


async def move(reminder: Reminder, runtime: Runtime, *, text: str, moment: Moment | None) -> None:
    """Change a reminder so that it can be taken back."""
    new = {**columns(moment), "due_ms": columns(moment)["at_ms"]} if moment else {}
    await entered(
        runtime, REMINDERS, {reminder.added_by: (reminder.values(), {**reminder.values(), "text": text, **new})}
    )
    await reminders_of(runtime).change(reminder, runtime.tool_call_id or "", text=text, moment=moment)


@traits(effect="write", repeatable=True, volatile=True, undo=REMINDERS)
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
    # A call that is repeated finds the reminder that it has added, so it can be entered afterwards.
    await entered(runtime, REMINDERS, {added.added_by: (None, added.values())})
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


@traits(effect="write", repeatable=True, volatile=True, undo=REMINDERS)
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
    new = None if when is None else moved(when, lang, present(runtime), await _zone(runtime), reminder.moment)
    if when is not None and new is None:
        return phrase("reminder_when", lang, when=when)
    await move(reminder, runtime, text=text or reminder.text, moment=new)
    changed = await _numbered(number, runtime) or reminder
    if runtime.context.is_shared and not text:
        # What it is about was perhaps set where nobody else reads.
        changed = replace(changed, text="…")
    return phrase("reminder_set", lang, reminder=_line(changed, lang))


@traits(effect="write", repeatable=True, volatile=True, undo=REMINDERS, confirm=asks, question=deletion)
@tool
async def delete_reminders(numbers: Annotated[list[Number], Field(min_length=1)], runtime: Runtime) -> str:
    """Delete reminders, alarms or timers. numbers: as in the list."""
    lang, live = runtime.state["lang"], await reminders_of(runtime).live(runtime.context.user)
    deleted = {it.number: it for it in await delete([it for it in live if it.number in numbers], runtime)}
    if unknown := [number for number in dict.fromkeys(numbers) if number not in deleted]:
        return await _no_such(unknown, runtime)
    lines = ", ".join(map(str, sorted(deleted)))
    if not runtime.context.is_shared:
        lines = "; ".join(_line(reminder, lang) for _, reminder in sorted(deleted.items()))
    return f"{phrase('deleted', lang, items=lines)}\n{await listed(runtime)}"


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
