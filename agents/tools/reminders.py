"""The user's reminders, alarms and timers, and the plan of the day that is told each morning.

A reminder's number never changes, and a call that is repeated after a crash finds its work done.
"""

from typing import Annotated

from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.messages.tool import ToolCall
from langchain_core.tools import tool
from pydantic import Field

from agents.errors import UsageError
from agents.language.schedule import Moment
from agents.language.schedule.parser import moment
from agents.language.schedule.recurrence import daily
from agents.language.schedule.reschedule import is_shift, moved, names_no_day
from agents.language.text.vocabulary import listening
from agents.memory.reminder_row import Kind, Reminder
from agents.memory.reminders import MOST
from agents.state.talk import Json
from agents.toolkit import Answer, Entry, Option, Refused, Runtime, choice, result, traits
from agents.toolkit.paging import Page, page_of
from agents.toolkit.undo import entered
from agents.tools.kept_reminders import (
    REMINDERS,
    chosen_of,
    delete,
    described,
    line_of,
    listed,
    live_of,
    move,
    no_time,
    present,
    reminders_of,
    zone_of,
)
from agents.tools.todos import asks
from prompts import phrase

Text = Annotated[str, Field(min_length=1, max_length=500)]
When = Annotated[str, Field(min_length=1, max_length=200)]
Number = Annotated[int, Field(ge=1)]
SETTING = ("add_reminder", "change_reminder")
HOUR_MS = 3600 * 1000
"""How long one that has rung is what "snooze" means, in milliseconds."""


async def deletion(args: Json, runtime: Runtime) -> str | None:
    """Word the question before reminders are deleted; empty where others read along, None if there is none."""
    lines = [line_of(reminder, runtime) for reminder in await live_of(runtime) if reminder.number in args["numbers"]]
    if lines and runtime.context.is_shared:
        return ""
    lang = runtime.state["lang"]
    return phrase("reminders_delete", lang, count=len(lines), items="; ".join(lines)) if lines else None


@traits(effect="write", repeatable=True, volatile=True, undo=REMINDERS)
@tool
async def add_reminder(when: When, runtime: Runtime, text: Text | None = None, kind: Kind | None = None) -> str:
    """Set a reminder, alarm or timer, one call for each.

    when: the user's words ("every Monday at 9"). text: what of.
    kind: as the user calls it; day tells the plan of each day.
    """
    added = await noted(when, runtime, text=text, kind=kind)
    return phrase("reminder_set", runtime.state["lang"], reminder=line_of(added, runtime))


async def noted(when: str, runtime: Runtime, *, text: str | None = None, kind: Kind | None = None) -> Reminder:
    """Set a reminder and return it as it is stored.

    Raises:
        Refused: that is no time to come, or there are too many reminders.
    """
    lang, now, zone = runtime.state["lang"], present(runtime), await zone_of(runtime)
    at = moment(when, listening(when, lang), now, zone, by_day=bool(text) and kind in (None, "reminder"))
    if at is None:
        raise await no_time(when, runtime)
    kind = kind or ("reminder" if text else "timer" if at.begun else "alarm")
    if kind == "day":
        text, at = None, daily(at, now)
    return await stored(at, runtime, runtime.tool_call_id or "", text=text, kind=kind)


@traits(view="cards", volatile=True, shortcut=True, private=True)
@tool(response_format="content_and_artifact")
async def list_reminders(runtime: Runtime, page: Page = 1) -> Answer:
    """Show reminders, alarms and timers with their numbers."""
    lang, live, now = runtime.state["lang"], await live_of(runtime), present(runtime)
    entries = [Entry(described(reminder, lang, now), number=reminder.number) for reminder in live]
    view = page_of(entries, page, lang)
    return result(message=view.text() if view else phrase("reminders_none", lang), view=view)


@traits(kind="selector", private=True)
@tool(response_format="content_and_artifact")
async def choose_reminder(runtime: Runtime, numbers: list[Number] | None = None) -> Answer:
    """Let the user choose a reminder, of these numbers or of all."""
    lang = runtime.state["lang"]
    chosen = [reminder for reminder in await live_of(runtime) if numbers is None or reminder.number in numbers]
    options = [
        # With the date: "see you tomorrow" must choose nothing.
        Option(described(it, lang), {"number": it.number, "text": it.text}, id=str(it.number))
        for it in chosen
    ]
    return choice(phrase("which_reminder", lang), options)


@traits(effect="write", repeatable=True, volatile=True, undo=REMINDERS)
@tool
async def change_reminder(
    runtime: Runtime, number: Number | None = None, text: Text | None = None, when: When | None = None
) -> str:  # fmt: skip
    """Change a reminder, alarm or timer, or put off one that rang.

    number: as listed; without it the one just set or rung. when: the user's words, also relative
    ("an hour later", "by a day", "at ten", "15" for a timer).
    """
    lang = runtime.state["lang"]
    reminder = await (_numbered(number, runtime) if number else _just_spoken_of(when, runtime))
    if reminder is None:
        return await _no_such([number or 0], runtime)
    new = await _moved(reminder, when, runtime) if when else None
    await move(reminder, runtime, text=text or reminder.text, moment=new)
    changed = await _numbered(reminder.number, runtime) or reminder
    # What it is about was perhaps set where nobody else reads.
    hidden = runtime.context.is_shared and not text
    return phrase("reminder_set", lang, reminder=line_of(changed, runtime, hidden=hidden))


@traits(effect="write", repeatable=True, volatile=True, undo=REMINDERS, confirm=asks, question=deletion)
@tool
async def delete_reminders(numbers: Annotated[list[Number], Field(min_length=1)], runtime: Runtime) -> str:
    """Delete reminders, alarms or timers. numbers: as listed."""
    lang, live = runtime.state["lang"], await live_of(runtime)
    deleted = await delete([it for it in live if it.number in numbers], runtime)
    numbers_deleted = {reminder.number for reminder in deleted}
    if unknown := [number for number in dict.fromkeys(numbers) if number not in numbers_deleted]:
        return await _no_such(unknown, runtime)
    lines = ", ".join(map(str, sorted(numbers_deleted)))
    if not runtime.context.is_shared:
        lines = "; ".join(line_of(reminder, runtime) for reminder in deleted)
    return f"{phrase('deleted', lang, items=lines)}\n{await listed(runtime)}"


async def stored(at: Moment, runtime: Runtime, call: str, *, text: str | None, kind: Kind = "reminder") -> Reminder:
    """Store a reminder under the call that adds it, so that it can be taken back.

    Raises:
        Refused: there are too many.
    """
    lang, context = runtime.state["lang"], runtime.context
    text = text or phrase("reminder_time_is_up", lang)
    try:
        added = await reminders_of(runtime).add(
            context.user, context.thread, call, text=text, lang=lang, moment=at, kind=kind
        )
    except UsageError:
        raise Refused(phrase("reminders_full", lang, most=MOST)) from None
    # A call that is repeated finds the reminder that it has added, so it can be entered afterwards.
    await entered(runtime, REMINDERS, {added.added_by: (None, added.values())})
    return added


async def _just_spoken_of(when: str | None, runtime: Runtime) -> Reminder:
    """Return the reminder that was set or changed in the last turn, else the one that has just rung.

    Raises:
        Refused: there is none.
    """
    live, now_ms = await live_of(runtime), present(runtime).timestamp() * 1000
    spoken_of = await reminders_of(runtime).of_calls(runtime.context.user, _recent_calls(runtime))
    candidates = spoken_of or [it for it in live if it.rung_ms and it.rung_ms > now_ms - HOUR_MS]
    if not candidates and when and is_shift(when, runtime.state["lang"]):
        candidates = live
    if not candidates:
        raise Refused(f"{phrase('reminder_which', runtime.state['lang'])}\n{await listed(runtime)}")
    return chosen_of(candidates, runtime)


def _recent_calls(runtime: Runtime) -> list[str]:
    """Return the ids of the tool calls of this turn and the last one of the speaker."""
    return [call["id"] or "" for call in _calls(runtime)]


def _calls(runtime: Runtime) -> list[ToolCall]:
    """Return the other tool calls of this turn and the last one of the speaker."""
    talk = runtime.state.get("talk", [])
    heard = [place for place, message in enumerate(talk) if isinstance(message, HumanMessage)]
    replies = talk[heard[-2] if len(heard) > 1 else 0 :]
    calls = [call for reply in replies if isinstance(reply, AIMessage) for call in reply.tool_calls]
    return [call for call in calls if call["id"] != runtime.tool_call_id]


async def _moved(reminder: Reminder, when: str, runtime: Runtime) -> Moment:
    """Return when a reminder shall be after a change. Raises Refused: that is no time to come."""
    lang, now, zone = listening(when, runtime.state["lang"]), present(runtime), await zone_of(runtime)
    set_by = next((call for call in reversed(_calls(runtime)) if call["name"] in SETTING and call["args"]), None)
    words = set_by["args"].get("when") if set_by and set_by["id"] == reminder.added_by else None
    day_named = not (words and names_no_day(words, listening(words, lang)))
    new = moved(when, lang, now, zone, reminder.moment, day_named=day_named)
    if new is None:
        raise await no_time(when, runtime)
    return new


async def _numbered(number: int, runtime: Runtime) -> Reminder | None:
    return next((reminder for reminder in await live_of(runtime) if reminder.number == number), None)


async def _no_such(numbers: list[int], runtime: Runtime) -> str:
    missing = ", ".join(map(str, numbers))
    return f"{phrase('reminder_unknown', runtime.state['lang'], numbers=missing)}\n{await listed(runtime)}"
