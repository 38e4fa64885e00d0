"""Reminders, alarms and timers, and the plan of the day that is told each morning.

A reminder's number never changes, and a call that is repeated after a crash finds its work done.
"""

from typing import Literal

from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.messages.tool import ToolCall
from langchain_core.tools import tool

from agents.language.schedule import Moment
from agents.language.schedule.parser import moment
from agents.language.schedule.recurrence import daily
from agents.language.schedule.reschedule import is_shift, moved, names_no_day
from agents.language.text.vocabulary import listening
from agents.toolkit import Answer, Refused, Runtime, traits
from agents.toolkit.result import Page
from agents.toolkit.runtime import present, zone_of
from agents.toolkit.undo import begun
from dialogs.planner.kept_lists import Number, Numbers, Text, When, asks
from dialogs.planner.kept_reminders import (
    REMINDERS,
    changed,
    chosen_of,
    line_of,
    live_reminders,
    no_time,
    stored,
)
from dialogs.planner.phrases import say
from dialogs.planner.reminder import Kind, Reminder

SETTING = ("add_reminder", "change_reminder")
JUST_RUNG_MS = 3600 * 1000
"""How long a reminder that has rung is what "snooze" means."""


@traits(effect="write", repeatable=True, volatile=True, undo=REMINDERS)
@tool
async def add_reminder(when: When, runtime: Runtime, text: Text | None = None, kind: Kind | None = None) -> str:
    """Set a reminder, alarm or timer, one call for each.

    when: the user's words ("every Monday at 9"). text: what of.
    kind: as the user calls it; day tells the plan of each day.
    """
    lang, now, zone = runtime.state["lang"], present(runtime), await zone_of(runtime)
    at = moment(when, listening(when, lang), now, zone, by_day=bool(text) and kind in (None, "reminder"))
    if at is None:
        raise await no_time(when, runtime)
    kind = kind or ("reminder" if text else "timer" if at.begun else "alarm")
    if kind == "day":
        text, at = None, daily(at, now)
    added = await stored(at, runtime, runtime.tool_call_id or "", text=text, kind=kind)
    return say("reminder_set", lang, reminder=line_of(added, runtime))


@traits(view="cards", volatile=True, shortcut=True, private=True)
@tool(response_format="content_and_artifact")
async def list_reminders(runtime: Runtime, page: Page = 1) -> Answer:
    """Show reminders, alarms and timers with their numbers."""
    return await REMINDERS.shown(runtime, page)


@traits(kind="selector", private=True)
@tool(response_format="content_and_artifact")
async def choose_reminder(runtime: Runtime, numbers: list[Number] | None = None) -> Answer:
    """Let the user choose a reminder, of these numbers or of all."""
    return await REMINDERS.choice(runtime, numbers)


@traits(effect="write", repeatable=True, volatile=True, undo=REMINDERS)
@tool
async def change_reminder(
    runtime: Runtime, number: Number | None = None, text: Text | None = None, when: When | None = None
) -> str:  # fmt: skip
    """Change a reminder, alarm or timer, or put off one that rang.

    number: as listed; without it the one just set or rung. when: the user's words, also relative
    ("an hour later", "by a day", "at ten", "15" for a timer).
    """
    if number:
        reminder = next((it for it in await live_reminders(runtime) if it.number == number), None)
    else:
        reminder = await _just_spoken_of(when, runtime)
    if reminder is None:
        return await REMINDERS.no_such(runtime, [number or 0])
    at = await _moved(reminder, when, runtime) if when else None
    new = await changed(reminder, runtime, text=text or reminder.text, moment=at)
    # What it is about was perhaps set where nobody else reads.
    hidden = runtime.context.is_shared and not text
    return say("reminder_set", runtime.state["lang"], reminder=line_of(new, runtime, hidden=hidden))


@traits(effect="write", repeatable=True, volatile=True, undo=REMINDERS, confirm=asks, question=REMINDERS.question)
@tool
async def delete_reminders(numbers: Numbers, runtime: Runtime) -> str:
    """Delete reminders, alarms or timers. numbers: as listed."""
    return await REMINDERS.delete(runtime, numbers)


@traits(effect="write", repeatable=True, volatile=True, shortcut=True, undo=REMINDERS)
@tool
async def stop_timer(runtime: Runtime, which: Literal["timer", "alarm"] = "timer") -> str:
    """Stop the timer or alarm; the user chooses of several."""
    lang = runtime.state["lang"]
    running = [it for it in await live_reminders(runtime) if it.kind == which and it.due_ms is not None]
    # What an earlier try of this call was about to stop is settled.
    is_settled = bool(await begun(runtime, REMINDERS))
    if not is_settled and not running:
        return say(f"{which}s_none", lang)
    numbers = [] if is_settled else [chosen_of(running, runtime).number]
    stopped = [Reminder(**it.values) for it in await REMINDERS.taken_off(runtime, numbers)]
    lines = [line_of(it, runtime, hidden=runtime.context.is_shared) for it in stopped]
    return say("stopped", lang, items="; ".join(lines))


async def _just_spoken_of(when: str | None, runtime: Runtime) -> Reminder:
    """Return the reminder that was set or changed in the last turn, else the one that has just rung.

    Raises:
        Refused: there is none.
    """
    live, now_ms = await live_reminders(runtime), present(runtime).timestamp() * 1000
    calls = {call["id"] for call in _recent_calls(runtime)}
    candidates = [it for it in live if calls & {it.added_by, it.changed_by}]
    candidates = candidates or [it for it in live if it.rung_ms and it.rung_ms > now_ms - JUST_RUNG_MS]
    if not candidates and when and is_shift(when, runtime.state["lang"]):
        candidates = live
    if not candidates:
        raise Refused(f"{say('reminder_which', runtime.state['lang'])}\n{await REMINDERS.listed(runtime)}")
    return chosen_of(candidates, runtime)


def _recent_calls(runtime: Runtime) -> list[ToolCall]:
    """Return the other tool calls of this turn and the last one of the speaker."""
    talk = runtime.state.get("talk", [])
    heard = [place for place, message in enumerate(talk) if isinstance(message, HumanMessage)]
    replies = talk[heard[-2] if len(heard) > 1 else 0 :]
    calls = [call for reply in replies if isinstance(reply, AIMessage) for call in reply.tool_calls]
    return [call for call in calls if call["id"] != runtime.tool_call_id]


async def _moved(reminder: Reminder, when: str, runtime: Runtime) -> Moment:
    """Return when a reminder shall be after a change. Raises Refused: that is no time to come."""
    lang, now, zone = listening(when, runtime.state["lang"]), present(runtime), await zone_of(runtime)
    calls = reversed(_recent_calls(runtime))
    set_by = next((call for call in calls if call["name"] in SETTING and call["args"]), None)
    words = set_by["args"].get("when") if set_by and set_by["id"] == reminder.added_by else None
    day_named = not (words and names_no_day(words, listening(words, lang)))
    new = moved(when, lang, now, zone, reminder.moment, day_named=day_named)
    if new is None:
        raise await no_time(when, runtime)
    return new
