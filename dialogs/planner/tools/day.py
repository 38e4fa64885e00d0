"""The agenda, a plan of the day from one sentence, and the time zone, which reminders follow."""

from datetime import datetime
from typing import Annotated
from zoneinfo import ZoneInfo, available_timezones

from langchain_core.tools import tool
from pydantic import Field

from agents.events.views import Day
from agents.language.schedule.period import day_of, period
from agents.language.schedule.wording import clock, worded_instant
from agents.language.text.vocabulary import listening, vocabulary
from agents.memory.preferences import Preferences
from agents.toolkit import Answer, Refused, Runtime, result, traits
from agents.toolkit.context import present, tells_of_others, zone_of
from agents.toolkit.undo import SETTINGS, enter_setting
from dialogs.planner.agenda import TODAY, Agenda
from dialogs.planner.day_plan import PlannedItem, items
from dialogs.planner.reschedule import rezoned
from dialogs.planner.store import Reminders
from dialogs.planner.tools.kept_lists import When
from dialogs.planner.tools.reminder_list import REMINDERS, changed, reminders_of, stored
from dialogs.planner.tools.todos import TODOS, put_on_list
from dialogs.planner.wording import said
from prompts import FALLBACK, table

MOST_PLANNED = 30
"""The most entries from one sentence."""


@traits(always=True, view="day", volatile=True, shortcut=True, private=True)
@tool(response_format="content_and_artifact")
async def agenda(runtime: Runtime, when: When = TODAY) -> Answer:
    """Tell what is on.

    when: "Friday", "this week", "next", "overdue", "how long" (timers), "how many".
    """
    lang = runtime.state["lang"]
    plans = await reminders_of(runtime).agenda(runtime.context.user, lang)
    span = period(when, FALLBACK if when == TODAY else listening(when, lang), plans.now, plans.zone)
    if span is None:
        raise Refused(said("agenda_unclear", lang, when=when))
    view = plans.shown(span)
    return _told(plans, view, runtime)


@traits(effect="write", repeatable=True, view="day", volatile=True, private=True, undo=(TODOS, REMINDERS))
@tool(response_format="content_and_artifact")
async def plan_day(plan: Annotated[str, Field(min_length=1, max_length=1000)], runtime: Runtime) -> Answer:
    """Note a day: what has a time will ring, the rest are to-dos.

    plan: the day in one sentence, as the user told it.
    """
    lang, now, zone = runtime.state["lang"], present(runtime), await zone_of(runtime)
    planned = items(plan, lang, now, zone)
    left_out = [_why(item, lang, now) for item in planned if item.problem]
    if len(planned) > MOST_PLANNED:
        raise Refused(said("plan_long", lang, most=MOST_PLANNED))
    if len(left_out) == len(planned):
        raise Refused("; ".join(left_out) or said("plan_empty", lang))
    begins: list[datetime] = []
    for place, item in enumerate(planned):
        if item.moment:
            begins.append(item.moment.at)
            await stored(item.moment, runtime, f"{runtime.tool_call_id}-{place}", text=item.text)
    if todos := [item.text for item in planned if not item.moment and not item.problem]:
        await put_on_list(todos, runtime)
    plans = await reminders_of(runtime).agenda(runtime.context.user, lang)
    view = plans.day(day_of(min(begins, default=plans.now.astimezone(zone))))
    if left_out:
        notes = [*view.notes, said("plan_left_out", lang, items="; ".join(left_out))]
        view = view.model_copy(update={"notes": notes})
    return _told(plans, view, runtime)


def _told(plans: Agenda, view: Day, runtime: Runtime) -> Answer:
    text = view.text()
    if plans.tells_of_others(text):
        tells_of_others(runtime)
    return result(message=text, view=view)


def _why(item: PlannedItem, lang: str, now: datetime) -> str:
    assert item.problem is not None  # the caller chose those
    at = f" ({worded_instant(item.problem.at, lang, now)})" if item.problem.at else ""
    return said(f"plan_{item.problem.reason}", lang, text=item.text, at=at)


@traits(effect="write", repeatable=True, volatile=True, undo=(SETTINGS, REMINDERS))
@tool
async def set_time_zone(zone: str, runtime: Runtime) -> str:
    """Set the time zone.

    zone: its IANA name, as Europe/Berlin.
    """
    lang = runtime.state["lang"]
    name = _named(zone, lang)
    if name is None:
        return said("zone_unknown", lang, zone=zone)
    await enter_setting(runtime, "zone", {"zone": name})
    await Preferences(zone=ZoneInfo(name)).save(runtime.store, runtime.context.user)
    now = present(runtime).astimezone(ZoneInfo(name))
    answer = said("zone_set", lang, zone=name, time=clock(now.replace(second=0), lang))
    if not await _taken_along(runtime, ZoneInfo(name)):
        return answer
    return f"{answer} {said('zone_reminders', lang)}\n{await REMINDERS.listed(runtime)}"


def _named(place: str, lang: str) -> str | None:
    """Return the zone of a name: of the database, of its city, or of a city in a language; else None."""
    lang = listening(place, lang)
    names = sorted(available_timezones())
    name_sought = place.strip().replace(" ", "_").casefold()
    cities = {name.rpartition("/")[2].casefold(): name for name in names if "/" in name}
    key = vocabulary(lang).key(place)
    names_by_zone = table("planner/zones", lang).items()
    called = (zone for zone, names in names_by_zone if key in map(vocabulary(lang).key, names))
    zones = {name.casefold(): name for name in names}
    return zones.get(name_sought) or cities.get(name_sought) or next(called, None)


async def _taken_along(runtime: Runtime, zone: ZoneInfo) -> bool:
    """Bring the coming reminders into a new time zone; return whether there are any."""
    reminders = runtime.context.services.find(Reminders)
    live = await reminders.live(runtime.context.user) if reminders and runtime.context.rings else []
    coming = [reminder for reminder in live if reminder.due_ms is not None]
    for reminder in coming:
        if reminder.zone != zone.key:
            there = rezoned(reminder.moment, present(runtime), zone)
            await changed(reminder, runtime, text=reminder.text, moment=there)
    return bool(coming)
