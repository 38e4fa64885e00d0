"""The user's reminders as the tools for them find, change and take them back."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from langgraph.types import interrupt

from agents.errors import UsageError
from agents.language.schedule import Moment
from agents.language.schedule.parser import problem
from agents.language.schedule.wording import worded_instant
from agents.toolkit import Refused, Runtime
from agents.toolkit.present import present, zone_of
from agents.toolkit.undo import entered
from dialogs.planner.kept_lists import KeptList
from dialogs.planner.phrases import say
from dialogs.planner.reminder import Kind, Reminder, described, timing
from dialogs.planner.reminders import MOST_REMINDERS, Reminders

COMPARED = ("text", "zone", "rule", "start")


class KeptReminders(KeptList):
    """Reminders, those that have just rung among them."""

    name = "reminders"
    told = ("number", "text")

    async def stored(self, runtime: Runtime) -> Mapping[str, Mapping[str, Any]]:
        """Return the reminders by key."""
        return {it.added_by: it.values() for it in await live_reminders(runtime)}

    def words(self, values: Mapping[str, Any], lang: str, now: datetime | None = None) -> str:
        """Return what a reminder is about, and when it is."""
        return described(Reminder(**values), lang, now)

    async def remove(self, runtime: Runtime, keys: Collection[str]) -> None:
        """Delete reminders."""
        await reminders_of(runtime).delete(runtime.context.user, keys)

    async def write(self, runtime: Runtime, key: str, value: Any) -> None:
        """Put a reminder back, or take it away."""
        if value is None:
            await self.remove(runtime, [key])
        else:
            await reminders_of(runtime).put_back(runtime.context.user, key, value)

    def same(self, one: Any, other: Any) -> bool:
        """Compare what is reminded of, and when; one that repeats moves on by itself."""
        if one is None or other is None:
            return one is other
        names = COMPARED if one["rule"] else (*COMPARED, "at_ms")
        return all(one[name] == other[name] for name in names)

    def worded(self, value: Any, lang: str) -> str:
        """Return a reminder with its number, and whether it is over."""
        line = f"{value['number']}. {self.words(value, lang, datetime.now(UTC))}"
        return say("reminder_over", lang, reminder=line) if value["due_ms"] is None else line


REMINDERS = KeptReminders()


def reminders_of(runtime: Runtime) -> Reminders:
    """Return the table of reminders.

    Raises:
        Refused: nothing can ring here, so nothing may be promised.
    """
    reminders = runtime.context.services.find(Reminders)
    if reminders is None or not runtime.context.rings:
        raise Refused(say("reminders_nowhere", runtime.state["lang"]))
    return reminders


async def live_reminders(runtime: Runtime) -> list[Reminder]:
    """Return the user's reminders to come, and those that have just rung, by number. Raises the same."""
    return await reminders_of(runtime).live(runtime.context.user)


def line_of(reminder: Reminder, runtime: Runtime, *, hidden: bool = False) -> str:
    """Return a reminder with its number; `hidden` leaves its text out."""
    return f"{reminder.number}. {described(reminder, runtime.state['lang'], present(runtime), hidden=hidden)}"


async def stored(at: Moment, runtime: Runtime, call: str, *, text: str | None, kind: Kind = "reminder") -> Reminder:
    """Store a reminder under the call that adds it, so that it can be taken back.

    Raises:
        Refused: there are too many.
    """
    lang, context = runtime.state["lang"], runtime.context
    text = text or say("reminder_time_is_up", lang)
    try:
        added = await reminders_of(runtime).add(
            context.user, context.thread, call, text=text, lang=lang, moment=at, kind=kind
        )
    except UsageError:
        raise Refused(say("reminders_full", lang, most=MOST_REMINDERS)) from None
    # A call that is repeated finds the reminder that it has added, so it can be entered afterwards.
    await entered(runtime, REMINDERS, {added.added_by: (None, added.values())})
    return added


async def changed(reminder: Reminder, runtime: Runtime, *, text: str, moment: Moment | None) -> Reminder:
    """Change a reminder so that it can be taken back; return it as it is then."""
    new = replace(reminder, text=text, **(timing(moment) if moment else {}))
    await entered(runtime, REMINDERS, {reminder.added_by: (reminder.values(), new.values())})
    return await reminders_of(runtime).change(reminder, runtime.tool_call_id or "", text=text, moment=moment)


def chosen_of(reminders: Sequence[Reminder], runtime: Runtime) -> Reminder:
    """Return the one reminder, or the one of several that the user chooses; what a tool writes belongs behind it."""
    if len(reminders) == 1:
        return reminders[0]
    lang, hidden = runtime.state["lang"], runtime.context.is_shared
    # In words that do not change until the answer comes, and that no farewell has ("see you tomorrow").
    options = {str(it.number): described(it, lang, hidden=hidden) for it in reminders}
    number = interrupt({"question": say("which_entry", lang), "options": options})
    return next(reminder for reminder in reminders if str(reminder.number) == str(number))


async def no_time(when: str, runtime: Runtime) -> Refused:
    """Return why the user's words are no time to come, and the question when it shall be."""
    lang, now = runtime.state["lang"], present(runtime)
    reason = problem(when, lang, now, await zone_of(runtime))
    at = f" ({worded_instant(reason.at, lang, now)})" if reason.at else ""
    return Refused(say(f"time_{reason.reason}", lang, when=when, at=at))
