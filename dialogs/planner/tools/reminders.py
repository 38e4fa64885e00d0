"""Reminders, alarms and timers, and the plan of the day that rings each morning.

A reminder's number never changes, and a call that is repeated after a crash finds its work done.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Literal

from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.messages.tool import ToolCall
from langchain_core.tools import tool
from langgraph.types import interrupt
from pydantic import Field

from agents.language.schedule import Moment
from agents.language.schedule.grammar import is_shift
from agents.language.schedule.parser import moment, problem
from agents.language.schedule.period import period
from agents.language.schedule.wording import worded_instant
from agents.language.text.vocabulary import listening, vocabulary
from agents.state.speaker_state import Json
from agents.toolkit import Answer, Refused, Runtime, result, traits
from agents.toolkit.context import present, zone_of
from agents.toolkit.result import Page
from agents.toolkit.undo import begun
from dialogs.planner.records import Kind, Reminder, described
from dialogs.planner.reschedule import in_minutes, is_length, moved, names_no_day, repeats
from dialogs.planner.series import DAILY, daily, is_of_last_ring, without
from dialogs.planner.store import RING
from dialogs.planner.tools.kept_lists import Kept, Number, Numbers, Text, When, asks, closest, told
from dialogs.planner.tools.reminder_list import REMINDERS, changed, line_of, live_reminders, stored
from dialogs.planner.wording import said

SETTING = ("add_reminder", "change_reminder")
Day = Annotated[str, Field(max_length=200)]
JUST_RUNG_MS = 3600 * 1000
"""The time after its ring in which "snooze" means a reminder."""


def chosen_of(reminders: Sequence[Reminder], runtime: Runtime) -> Reminder:
    """Return the one reminder, or the user's choice among several; a tool must write only after this call."""
    return reminders[0] if len(reminders) == 1 else _choice_of(reminders, runtime)


def _choice_of(reminders: Sequence[Reminder], runtime: Runtime) -> Reminder:
    lang, hidden = runtime.state["lang"], runtime.context.is_shared
    told([Kept(it.number, it.added_by, it.text, it.values()) for it in reminders], runtime)
    # The words must not change until the answer comes, and must not be those of a farewell ("see you tomorrow").
    options = {str(it.number): described(it, lang, hidden=hidden) for it in reminders}
    number = interrupt({"question": said("which_entry", lang), "options": options})
    return next(reminder for reminder in reminders if str(reminder.number) == str(number))


async def no_time(when: str, runtime: Runtime) -> Refused:
    """Return the refusal of words that name no future time: the reason, and the question for a time."""
    lang, now = runtime.state["lang"], present(runtime)
    reason = problem(when, lang, now, await zone_of(runtime))
    at = f" ({worded_instant(reason.at, lang, now)})" if reason.at else ""
    return Refused(said(f"time_{reason.reason}", lang, when=when, at=at))


@traits(always=True, effect="write", repeatable=True, volatile=True, undo=REMINDERS)
@tool
async def add_reminder(when: When, runtime: Runtime, text: Text | None = None, kind: Kind | None = None) -> str:
    """Set a reminder, alarm or timer, one call for each.

    when: the user's words ("every Monday at 9").
    text: what of.
    kind: as the user calls it; day tells the plan of each day.
    """
    lang, now, zone = runtime.state["lang"], present(runtime), await zone_of(runtime)
    spoken = listening(when, lang)
    timed = in_minutes(when, spoken, now) if kind == "timer" else None
    at = timed or moment(when, spoken, now, zone, by_day=bool(text) and kind in (None, "reminder"))
    if at is None:
        raise await no_time(when, runtime)
    kind = kind or ("reminder" if text else "timer" if at.begun else "alarm")
    if kind == "day":
        text, at = None, daily(at, now)
    added = await stored(at, runtime, runtime.tool_call_id or "", text=text, kind=kind)
    return said("reminder_set", lang, reminder=line_of(added, runtime))


@traits(always=True, view="cards", volatile=True, shortcut=True, private=True)
@tool(response_format="content_and_artifact")
async def list_reminders(runtime: Runtime, page: Page = 1, about: str = "") -> Answer:
    """Show reminders, alarms and timers with their numbers.

    page: from 1.
    about: only what this names ("when is the dentist?").
    """
    entries, lang = await REMINDERS.entries(runtime), runtime.state["lang"]
    reminders = closest({it: it.words for it in entries}, about, lang)
    if about and not reminders:
        return result(message=said("reminders_not_about", lang, about=about))
    return await REMINDERS.shown(runtime, page, reminders)


@traits(kind="selector", private=True)
@tool(response_format="content_and_artifact")
async def choose_reminder(runtime: Runtime, numbers: list[Number] | None = None) -> Answer:
    """Let the user choose a reminder.

    numbers: of these; left out, of all.
    """
    return await REMINDERS.choice(runtime, numbers)


async def _change(args: Json, runtime: Runtime) -> str | None:
    return await REMINDERS.question_of_change(change_reminder, args, runtime)


@traits(always=True, effect="write", repeatable=True, volatile=True, undo=REMINDERS, question=_change)
@tool
async def change_reminder(
    runtime: Runtime,
    number: Number | None = None,
    text: Text | None = None,
    when: When | None = None,
    every: bool | None = None,
) -> str:
    """Change a reminder, alarm or timer, or put off one that rang.

    number: as listed; left out, the one just set or rung.
    text: the new one.
    when: the user's words, also relative ("an hour later", "by a day", "at ten", "15" for a timer).
    every: true for all times of a repetition, false for the next only (a snooze); left out, the user is asked.
    """
    if number:
        reminder = next((it for it in await live_reminders(runtime) if it.number == number), None)
    else:
        reminder = await _just_spoken_of(when, runtime)
    if reminder is None:
        return await REMINDERS.no_such(runtime, [number or 0])
    if when and await _is_for_once(reminder, when, runtime, every=every):
        return await _put_off_once(reminder, when, runtime, text or reminder.text)
    at = await _moved(reminder, when, runtime) if when else None
    new = await changed(reminder, runtime, text=text or reminder.text, moment=at)
    # The text was perhaps set where nobody else reads.
    hidden = runtime.context.is_shared and not text
    return said("reminder_set", runtime.state["lang"], reminder=line_of(new, runtime, hidden=hidden))


async def _skip(args: Json, runtime: Runtime) -> str | None:
    return await REMINDERS.question_of_change(skip_reminder, args, runtime)


@traits(effect="write", repeatable=True, volatile=True, undo=REMINDERS, question=_skip)
@tool
async def skip_reminder(runtime: Runtime, number: Number | None = None, when: Day = "") -> str:
    """Skip one time of a repetition, which goes on; or tick a single reminder off as done.

    number: as listed; left out, the only one that repeats on that day.
    when: the day to skip, in the user's words; left out, the next time, and after a ring nothing.
    """
    lang, hidden, now = runtime.state["lang"], runtime.context.is_shared, present(runtime)
    # An earlier try of this call may have skipped it.
    tried = await begun(runtime, REMINDERS)
    before = next((Reminder(**before) for before, _ in tried.values() if before), None)
    number = before.number if before else number or (await _due(when, runtime)).number
    reminder = next((it for it in await live_reminders(runtime) if it.number == number), None)
    before = before or reminder
    if before is None:
        return await REMINDERS.no_such(runtime, [number])
    skipped = await _time_of(before, when, runtime) if before.rule else before.moment.at
    behind = without(before.moment, skipped, now) if before.rule else None
    if reminder is None or behind is None:
        [over] = await REMINDERS.taken_off(runtime, [number])
        line = line_of(Reminder(**over.values), runtime, hidden=hidden)
        return said("reminder_ticked_off", lang, reminder=line)
    if reminder.changed_by != runtime.tool_call_id:
        if not when and (rang := await _of_last_ring(reminder, runtime)):
            return rang
        reminder = await changed(reminder, runtime, text=reminder.text, moment=behind)
    line = line_of(reminder, runtime, hidden=hidden)
    return said("reminder_skipped", lang, skipped=worded_instant(skipped, lang, now), series=line)


async def _due(when: str, runtime: Runtime) -> Reminder:
    """Return the only thing on a day if it repeats, else the user's choice. Raises Refused: nothing repeats."""
    lang = runtime.state["lang"]
    day = period(when, listening(when, lang), present(runtime), await zone_of(runtime)) if when else None
    live = await live_reminders(runtime)
    on_day = [it for it in live if day and any(day.times(it.moment))]
    # A series that does not come on that day tells when it comes.
    due = on_day or [it for it in live if it.rule]
    if not due:
        raise Refused(said("reminder_which", lang))
    return due[0] if len(due) == 1 and due[0].rule else _choice_of(due, runtime)


async def _time_of(reminder: Reminder, when: str, runtime: Runtime) -> datetime:
    """Return the one time of a repetition on the day that the words name, or its next one. Raises Refused: none."""
    lang, now, upcoming = runtime.state["lang"], present(runtime), reminder.moment.at
    day = period(when, listening(when, lang), now, await zone_of(runtime)) if when else None
    times = [*day.times(reminder.moment)] if day else [] if when else [upcoming]
    is_frequent = reminder.moment.repeat is not None and reminder.moment.repeat.is_elapsed
    if len(times) != 1 or (is_frequent and times != [upcoming]):
        raise Refused(said("reminder_skips_next", lang, when=when, next=worded_instant(upcoming, lang, now)))
    return times[0]


@traits(
    always=True,
    effect="write",
    repeatable=True,
    volatile=True,
    undo=REMINDERS,
    confirm=asks,
    question=REMINDERS.question,
)
@tool
async def delete_reminders(numbers: Numbers, runtime: Runtime) -> str:
    """Delete reminders, alarms or timers.

    numbers: as listed.
    """
    others = await REMINDERS.of_other_kinds(numbers, runtime)
    deleted = await REMINDERS.delete(runtime, [number for number in numbers if number not in others])
    if not others:
        return deleted
    return f"{deleted}\n{said('reminders_left', runtime.state['lang'], items='; '.join(others.values()))}"


@traits(effect="write", repeatable=True, volatile=True, shortcut=True, undo=REMINDERS)
@tool
async def stop_timer(runtime: Runtime, which: Literal["timer", "alarm"] = "timer", last: bool = False) -> str:
    """Stop the timer or alarm; the user chooses of several.

    which: of the two.
    last: true for what was just set or has rung, whatever it is ("turn it off").
    """
    lang, live = runtime.state["lang"], await live_reminders(runtime)
    if last:
        meant = _told_last(live, runtime) or [it for it in live if _has_just_rung(it, runtime)]
    else:
        meant = [it for it in live if it.kind == which and it.due_ms is not None]
    # An earlier try of this call has settled the entry to stop.
    is_settled = bool(await begun(runtime, REMINDERS))
    if not is_settled and not meant:
        return said(f"{which}s_none", lang)
    numbers = [] if is_settled else [(chosen := chosen_of(meant, runtime)).number]
    if numbers and (rang := await _of_last_ring(chosen, runtime)):
        return rang
    stopped = [Reminder(**it.values) for it in await REMINDERS.taken_off(runtime, numbers)]
    lines = [line_of(it, runtime, hidden=runtime.context.is_shared) for it in stopped]
    return said("stopped", lang, items="; ".join(lines))


async def _of_last_ring(reminder: Reminder, runtime: Runtime) -> str | None:
    """Return a sentence on the last ring of a repetition if that is meant, and not the next one, which stays."""
    zone, lang, upcoming = await zone_of(runtime), runtime.state["lang"], reminder.moment.at
    now = present(runtime).astimezone(zone)
    rung = datetime.fromtimestamp(reminder.rung_ms / 1000, zone) if reminder.rung_ms and reminder.rule else None
    if rung is None or not is_of_last_ring(rung, upcoming, now):
        return None
    rang, next_time = (worded_instant(it, lang, now) for it in (rung, upcoming))
    return said("reminder_rang", lang, rang=rang, next=next_time)


async def _is_for_once(reminder: Reminder, when: str, runtime: Runtime, *, every: bool | None) -> bool:
    """Tell whether another time is only for the next occurrence of a repetition; ask the user if that is unclear."""
    lang = listening(when, runtime.state["lang"])
    if reminder.rule is None or repeats(when, lang):
        return False
    # An earlier try of this call has settled the decision.
    for before, after in (await begun(runtime, REMINDERS)).values():
        if before:
            return all(before[name] == after[name] for name in ("rule", "start"))
    if every is None and _has_just_rung(reminder, runtime):
        return True
    zone, now = await zone_of(runtime), present(runtime)
    for_all = moved(when, lang, now, zone, reminder.moment)
    if for_all is None or for_all.repeat is None or every is False:
        # The name of a day does not change the repetition.
        return True
    # A reminder that was set a moment ago is corrected, not put off.
    is_corrected = names_no_day(when, lang) or _is_correction(runtime)
    is_correction = is_corrected and {reminder.added_by, reminder.changed_by} & _recent_ids(runtime)
    if every or is_correction:
        return False
    shown = runtime.state["lang"]
    question = said("repetition_which", shown, when=worded_instant(reminder.moment.at, shown))
    options = {key: said(f"repetition_{key}", shown) for key in ("once", "every")}
    return str(interrupt({"question": question, "options": options})) == "once"


async def _put_off_once(reminder: Reminder, when: str, runtime: Runtime, text: str) -> str:
    """Move one occurrence of a repetition to another time; the repetition goes on behind it."""
    before = next((Reminder(**before) for before, _ in (await begun(runtime, REMINDERS)).values() if before), reminder)
    has_rung = _has_just_rung(before, runtime)
    at_ms = (has_rung and before.rung_ms) or before.at_ms
    at = await _moved(replace(before, rule=None, start=None, at_ms=at_ms), when, runtime)
    if behind := None if has_rung else without(before.moment, before.moment.at, present(runtime)):
        reminder = await changed(reminder, runtime, text=reminder.text, moment=behind)
    call = runtime.tool_call_id or ""
    origin = before.origin if text == before.text else None
    added = await stored(replace(at, repeat=None), runtime, call, text=text, kind=before.kind, origin=origin)
    once, series = (line_of(it, runtime, hidden=runtime.context.is_shared) for it in (added, reminder))
    return said("reminder_put_off", runtime.state["lang"], once=once, series=series)


def _is_correction(runtime: Runtime) -> bool:
    text = runtime.state["heard"]["text"] or ""
    return vocabulary(listening(text, runtime.state["lang"])).behind(text, "correcting") is not None


def _has_just_rung(reminder: Reminder, runtime: Runtime) -> bool:
    return bool(reminder.rung_ms and reminder.rung_ms > present(runtime).timestamp() * 1000 - JUST_RUNG_MS)


async def _just_spoken_of(when: str | None, runtime: Runtime) -> Reminder:
    """Return the reminder that was last set, changed or rung for this user.

    Raises:
        Refused: there is none.
    """
    live = await live_reminders(runtime)
    rang = [it for it in live if _has_just_rung(it, runtime)]
    # "No, at ten" corrects what was done last, and nothing older.
    is_of_last = runtime.state.get("wrote", True) or not _is_correction(runtime)
    candidates = (_told_last(live, runtime) or rang) if is_of_last else rang
    if not candidates and is_of_last and (len(live) == 1 or (when and is_shift(when, runtime.state["lang"]))):
        candidates = live
    if not candidates:
        raise Refused(f"{said('reminder_which', runtime.state['lang'])}\n{await REMINDERS.listed(runtime)}")
    return chosen_of(candidates, runtime)


def _told_last(live: Sequence[Reminder], runtime: Runtime) -> list[Reminder]:
    """Return the reminders that rang since the last write of this turn or the one before; else the written ones."""
    rang: list[Reminder] = []
    for reply in reversed(_recent_replies(runtime)):
        calls = {call["id"] for call in reply.tool_calls} - {runtime.tool_call_id}
        rang += [it for it in live if (reply.id or "").startswith(f"{RING}-{it.id}-")]
        if written := [it for it in live if calls & {it.added_by, it.changed_by}]:
            return rang or written
    return rang


def _recent_replies(runtime: Runtime) -> list[AIMessage]:
    """Return the replies of this turn and of the speaker's last one, including unasked messages since then."""
    talk = runtime.state.get("talk", [])
    heard = [place for place, message in enumerate(talk) if isinstance(message, HumanMessage)]
    return [it for it in talk[heard[-2] if len(heard) > 1 else 0 :] if isinstance(it, AIMessage)]


def _recent_calls(runtime: Runtime) -> list[ToolCall]:
    """Return the other tool calls of this turn and the last one of the speaker."""
    calls = [call for reply in _recent_replies(runtime) for call in reply.tool_calls]
    return [call for call in calls if call["id"] != runtime.tool_call_id]


def _recent_ids(runtime: Runtime) -> set[str | None]:
    return {call["id"] for call in _recent_calls(runtime)}


async def _moved(reminder: Reminder, when: str, runtime: Runtime) -> Moment:
    """Return the new time of a changed reminder. Raises Refused: it is not in the future."""
    lang, now, zone = listening(when, runtime.state["lang"]), present(runtime), await zone_of(runtime)
    calls = reversed(_recent_calls(runtime))
    set_by = next((call for call in calls if call["name"] in SETTING and call["args"]), None)
    words = set_by["args"].get("when") if set_by and set_by["id"] == reminder.added_by else None
    # A daily repetition names no day.
    is_daily = reminder.rule == DAILY
    day_named = not words or not (is_daily or names_no_day(words, listening(words, lang)))
    former = reminder.moment
    if words and is_length(words, lang) and is_length(when, lang) and _is_correction(runtime):
        # "In five minutes", "no, ten minutes": both count from now.
        former = Moment(now)
    new = moved(when, lang, now, zone, former, day_named=day_named, by_day=reminder.kind == "reminder")
    if new is None:
        raise await no_time(when, runtime)
    return new
