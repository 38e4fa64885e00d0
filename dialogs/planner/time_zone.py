"""The user's time zone, into which reminders come along."""

from zoneinfo import ZoneInfo, available_timezones

from langchain_core.tools import tool

from agents.language.schedule.reschedule import rezoned
from agents.language.schedule.wording import clock
from agents.language.text.vocabulary import listening, vocabulary
from agents.memory.preferences import Preferences
from agents.toolkit import Runtime, traits
from agents.toolkit.runtime import present
from agents.toolkit.undo import SETTINGS, enter_setting
from dialogs.planner.kept_reminders import REMINDERS, changed
from dialogs.planner.phrases import say
from dialogs.planner.reminders import Reminders
from prompts import table


@traits(effect="write", repeatable=True, volatile=True, undo=(SETTINGS, REMINDERS))
@tool
async def set_time_zone(zone: str, runtime: Runtime) -> str:
    """Set the time zone. zone: its IANA name, as Europe/Berlin."""
    lang = runtime.state["lang"]
    name = _named(zone, lang)
    if name is None:
        return say("zone_unknown", lang, zone=zone)
    await enter_setting(runtime, "zone", {"zone": name})
    await Preferences(zone=ZoneInfo(name)).save(runtime.store, runtime.context.user)
    now = present(runtime).astimezone(ZoneInfo(name))
    answer = say("zone_set", lang, zone=name, time=clock(now.replace(second=0), lang))
    if not await _taken_along(runtime, ZoneInfo(name)):
        return answer
    return f"{answer} {say('zone_reminders', lang)}\n{await REMINDERS.listed(runtime)}"


def _named(place: str, lang: str) -> str | None:
    """Return the zone of a name of the data base, of its city, or of a city as a language calls it; else None."""
    lang = listening(place, lang)
    names = sorted(available_timezones())
    name_sought = place.strip().replace(" ", "_").casefold()
    cities = {name.rpartition("/")[2].casefold(): name for name in names if "/" in name}
    key = vocabulary(lang).key(place)
    named = table("planner/zones", lang).items()
    called = (zone for zone, names in named if key in map(vocabulary(lang).key, names))
    zones = {name.casefold(): name for name in names}
    return zones.get(name_sought) or cities.get(name_sought) or next(called, None)


async def _taken_along(runtime: Runtime, zone: ZoneInfo) -> bool:
    """Bring the reminders to come into a new time zone; say whether there are any."""
    reminders = runtime.context.services.find(Reminders)
    live = await reminders.live(runtime.context.user) if reminders and runtime.context.rings else []
    coming = [reminder for reminder in live if reminder.due_ms is not None]
    for reminder in coming:
        if reminder.zone != zone.key:
            there = rezoned(reminder.moment, present(runtime), zone)
            await changed(reminder, runtime, text=reminder.text, moment=there)
    return bool(coming)
