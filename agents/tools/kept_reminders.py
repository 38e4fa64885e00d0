"""The user's reminders as the tools for them find, tell, write and take them back."""

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from langgraph.types import interrupt

from agents.language.schedule import Moment
from agents.language.schedule.problem import problem
from agents.language.schedule.wording import worded, worded_instant
from agents.memory.preferences import zone_of_user
from agents.memory.reminder_row import Reminder, columns
from agents.memory.reminders import Reminders
from agents.toolkit import Refused, Runtime
from agents.toolkit.undo import begun, entered
from prompts import phrase

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
        """Return a reminder with its number, and whether it is over."""
        reminder = Reminder(0, "", "", **value)
        line = f"{reminder.number}. {described(reminder, lang, datetime.now(UTC))}"
        return phrase("reminder_over", lang, reminder=line) if reminder.due_ms is None else line


REMINDERS = KeptReminders()


def described(reminder: Reminder, lang: str, now: datetime | None = None, *, hidden: bool = False) -> str:
    """Return what a reminder is about, its kind unless it is a plain one, and when it is; `hidden` leaves its text."""
    is_bare = reminder.kind == "day" or reminder.text == phrase("reminder_time_is_up", reminder.lang)
    label = phrase(f"kind_{reminder.kind}", lang)
    if not is_bare:
        text = "…" if hidden else reminder.text
        label = text if reminder.kind == "reminder" else f"{text} ({label})"
    rung = f" ({phrase('reminder_rung', lang)})" if reminder.due_ms is None else ""
    return f"{label}: {worded(reminder.moment, lang, now)}{rung}"


def line_of(reminder: Reminder, runtime: Runtime, *, hidden: bool = False) -> str:
    """Return a reminder with its number, in words of now."""
    return f"{reminder.number}. {described(reminder, runtime.state['lang'], present(runtime), hidden=hidden)}"


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


async def live_of(runtime: Runtime) -> list[Reminder]:
    """Return the user's reminders to come, and those that have just rung, by number. Raises the same."""
    return await reminders_of(runtime).live(runtime.context.user)


async def listed(runtime: Runtime) -> str:
    """Return the user's reminders in words, one a line; where others read along, only that they are not shown."""
    if runtime.context.is_shared:
        return phrase("list_kept_private", runtime.state["lang"])
    lines = [line_of(reminder, runtime) for reminder in await live_of(runtime)]
    return "\n".join(lines) or phrase("reminders_none", runtime.state["lang"])


async def delete(reminders: Sequence[Reminder], runtime: Runtime) -> list[Reminder]:
    """Delete reminders; return them, and those that an earlier try of this call has deleted, by number."""
    before = [Reminder(0, "", "", **value) for value, _ in (await begun(runtime, REMINDERS)).values()]
    await entered(runtime, REMINDERS, {it.added_by: (it.values(), None) for it in reminders})
    for reminder in reminders:
        await reminders_of(runtime).delete(runtime.context.user, reminder.number, runtime.tool_call_id or "")
    by_number = {reminder.number: reminder for reminder in [*before, *reminders]}
    return [by_number[number] for number in sorted(by_number)]


async def move(reminder: Reminder, runtime: Runtime, *, text: str, moment: Moment | None) -> None:
    """Change a reminder so that it can be taken back."""
    new = {**columns(moment), "due_ms": columns(moment)["at_ms"]} if moment else {}
    await entered(
        runtime, REMINDERS, {reminder.added_by: (reminder.values(), {**reminder.values(), "text": text, **new})}
    )
    await reminders_of(runtime).change(reminder, runtime.tool_call_id or "", text=text, moment=moment)


def chosen_of(reminders: Sequence[Reminder], runtime: Runtime) -> Reminder:
    """Return the one reminder, or the one of several that the user chooses; what a tool writes belongs behind it."""
    if len(reminders) == 1:
        return reminders[0]
    lang, hidden = runtime.state["lang"], runtime.context.is_shared
    # In words that do not change until the answer comes, and that no farewell has ("see you tomorrow").
    options = {str(it.number): described(it, lang, hidden=hidden) for it in reminders}
    number = interrupt({"question": phrase("which_reminder", lang), "options": options})
    return next(reminder for reminder in reminders if str(reminder.number) == str(number))


async def no_time(when: str, runtime: Runtime) -> Refused:
    """Return why the user's words are no time to come, and the question when it shall be."""
    lang, now = runtime.state["lang"], present(runtime)
    reason = problem(when, lang, now, await zone_of(runtime))
    at = f" ({worded_instant(reason.at, lang, now)})" if reason.at else ""
    return Refused(phrase(f"time_{reason.reason}", lang, when=when, at=at))


async def zone_of(runtime: Runtime) -> ZoneInfo:
    """Return the user's time zone as it is now."""
    return await zone_of_user(runtime.store, runtime.context.user)


def present(runtime: Runtime) -> datetime:
    """Return the present time by the clock that rings."""
    table = runtime.context.reminders
    return datetime.fromtimestamp(int(table.now() if table else time.time()), UTC)
