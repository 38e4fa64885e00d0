"""The list of a user's reminders, alarms and timers: stored, changed, worded, and deleted by kind."""

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import UTC, datetime

from langchain_core.messages import AIMessage, HumanMessage

from agents.errors import UsageError
from agents.language.schedule import Moment
from agents.language.text.stems import stems
from agents.state.speaker_state import Json
from agents.toolkit import Refused, Runtime
from agents.toolkit.context import present, tells_of_others
from agents.toolkit.undo import entered
from dialogs.planner.records import OTHERS, Kind, Reminder, described, timing
from dialogs.planner.store import MOST_REMINDERS, Reminders
from dialogs.planner.tools.kept_lists import KeptList, origin_of
from dialogs.planner.wording import said


class KeptReminders(KeptList):
    """The list of reminders, including those that have just rung."""

    name = "reminders"
    chosen_fields = ("number", "text")

    async def stored(self, runtime: Runtime) -> Mapping[str, Json]:
        """Return the reminders by key."""
        return {it.added_by: it.values() for it in await live_reminders(runtime)}

    def words(self, values: Json, lang: str, now: datetime | None = None) -> str:
        """Return the text and the time of a reminder."""
        return described(Reminder(**values), lang, now)

    async def remove(self, runtime: Runtime, keys: Collection[str]) -> None:
        """Delete reminders."""
        await reminders_of(runtime).delete(runtime.context.user, keys)

    async def write(self, runtime: Runtime, key: str, value: Json | None) -> None:
        """Put a reminder back, or take it away."""
        if value is None:
            await self.remove(runtime, [key])
        else:
            await reminders_of(runtime).put_back(runtime.context.user, key, value)

    def compared(self, values: Json) -> tuple[object, ...]:
        """Return the values for text and time."""
        return values["text"], values["zone"], values["rule"], values["start"], values.get("skipped", "")

    def same(self, item: Json | None, other: Json | None) -> bool:
        """See `Items`; one that repeats moves on by itself when it rings."""
        if item is None or other is None or not super().same(item, other):
            return item is other
        return item["at_ms"] == other["at_ms"] or bool(item["rule"] and item["rung_ms"] != other["rung_ms"])

    async def question(self, args: Json, runtime: Runtime) -> str | None:
        """See `KeptList`. Raises as `of_other_kinds`."""
        others = await self.of_other_kinds(args["numbers"], runtime)
        return await super().question({"numbers": [it for it in args["numbers"] if it not in others]}, runtime)

    async def of_other_kinds(self, numbers: Collection[int], runtime: Runtime) -> dict[int, str]:
        """Return the entries that a deletion leaves, with their lines: "all timers" are timers and nothing else.

        They are of another kind than the user has named, without its name. A spoken number names its entry, too.

        Raises:
            Refused: nothing would be deleted.
        """
        if runtime.context.is_shared:
            return {}
        lang, text = runtime.state["lang"], _asking(runtime)
        heard, numbers_said = {*stems(text, lang)}, {*map(int, re.findall(r"\d{1,6}", text))}
        live = await live_reminders(runtime)
        # Where no entry is a plain reminder, the word "reminder" means all kinds.
        kinds = {
            kind: {*stems(said(f"kind_{kind}", lang), lang)} for kind in {"alarm", "timer", *(it.kind for it in live)}
        }
        named = {kind: name for kind, name in kinds.items() if heard >= name}
        others = {
            it.number: line_of(it, runtime)
            for it in live
            if it.number in {*numbers} - numbers_said
            and it.kind not in named
            and not any(name <= {*stems(it.text, lang)} for name in named.values())
        }
        if not named:
            return {}
        if others and others.keys() >= {*numbers}:
            raise Refused(said("reminders_other_kind", lang, items="; ".join(others.values())))
        return others

    def worded(self, value: Json, lang: str) -> str:
        """Return a reminder with its number, and whether it is over."""
        line = f"{value['number']}. {self.words(value, lang, datetime.now(UTC))}"
        return said("reminder_over", lang, reminder=line) if value["due_ms"] is None else line


REMINDERS = KeptReminders()


def reminders_of(runtime: Runtime, *, promises: bool = False) -> Reminders:
    """Return the table of reminders. Raises Refused: there is none, or it `promises` a ring where none is possible."""
    reminders = runtime.context.services.find(Reminders)
    if reminders is None or (promises and not runtime.context.rings):
        raise Refused(said("reminders_nowhere", runtime.state["lang"]))
    return reminders


async def live_reminders(runtime: Runtime) -> list[Reminder]:
    """Return the user's coming reminders, and those that have just rung, by number. Raises as `reminders_of`."""
    return await reminders_of(runtime).live(runtime.context.user)


def line_of(reminder: Reminder, runtime: Runtime, *, hidden: bool = False) -> str:
    """Return a reminder with its number, for the model; `hidden` leaves its text out."""
    if reminder.origin == OTHERS and not hidden:
        tells_of_others(runtime)
    return f"{reminder.number}. {described(reminder, runtime.state['lang'], present(runtime), hidden=hidden)}"


async def stored(
    at: Moment, runtime: Runtime, call: str, *, text: str | None, kind: Kind = "reminder", origin: str | None = None
) -> Reminder:
    """Store a reminder under the call that adds it, and enter it for undo; without `origin` its text is new.

    Raises:
        Refused: there are too many.
    """
    lang, context = runtime.state["lang"], runtime.context
    if origin is None:
        origin = origin_of(text or "", runtime)
    text = text or said("reminder_time_is_up", lang)
    try:
        added = await reminders_of(runtime, promises=True).add(
            context.user, context.thread, call, text=text, lang=lang, moment=at, kind=kind, origin=origin
        )
    except UsageError:
        raise Refused(said("reminders_full", lang, most=MOST_REMINDERS)) from None
    # A call that is repeated finds the reminder that it has added, so it can be entered afterwards.
    await entered(runtime, REMINDERS, {added.added_by: (None, added.values())})
    return added


async def changed(reminder: Reminder, runtime: Runtime, *, text: str, moment: Moment | None) -> Reminder:
    """Change a reminder, and enter the change for undo; return the changed reminder."""
    origin = reminder.origin if text == reminder.text else origin_of(text, runtime)
    new = replace(reminder, text=text, origin=origin, **(timing(moment) if moment else {}))
    reminders = reminders_of(runtime, promises=moment is not None)
    await entered(runtime, REMINDERS, {reminder.added_by: (reminder.values(), new.values())})
    return await reminders.change(reminder, runtime.tool_call_id or "", text=text, moment=moment, origin=origin)


def _asking(runtime: Runtime) -> str:
    """Return the message of the user for which the speaker made this call; a later yes changes nothing of it."""
    text = runtime.state["heard"]["text"] or ""
    for message in runtime.state.get("talk", []):
        if isinstance(message, HumanMessage):
            text = message.text
        elif isinstance(message, AIMessage) and runtime.tool_call_id in (call["id"] for call in message.tool_calls):
            break
    return text
