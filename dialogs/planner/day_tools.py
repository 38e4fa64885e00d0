"""What is on, and a plan of the day from one sentence; both are shown as a day."""

from dataclasses import replace
from datetime import datetime
from typing import Annotated

from langchain_core.tools import tool
from pydantic import Field

from agents.language.schedule.parser import Item, items
from agents.language.schedule.period import day_of, period
from agents.language.schedule.wording import worded_instant
from agents.language.text.vocabulary import listening
from agents.toolkit import Answer, Refused, Runtime, result, traits
from agents.toolkit.present import present, zone_of
from dialogs.planner.agenda import TODAY
from dialogs.planner.kept_lists import When
from dialogs.planner.kept_reminders import REMINDERS, reminders_of, stored
from dialogs.planner.phrases import say
from dialogs.planner.todo_tools import TODOS, put_on_list

MOST_PLANNED = 30
"""Things of one sentence."""


@traits(view="day", volatile=True, shortcut=True, private=True)
@tool(response_format="content_and_artifact")
async def agenda(runtime: Runtime, when: When = TODAY) -> Answer:
    """Tell what is on. when: "Friday", "this week", "next", "overdue", "how long" (timers), "how many"."""
    lang = runtime.state["lang"]
    plans = await reminders_of(runtime).agenda(runtime.context.user, lang)
    asked = period(when, "en" if when == TODAY else listening(when, lang), plans.now, plans.zone)
    if asked is None:
        raise Refused(say("agenda_unclear", lang, when=when))
    view = plans.shown(asked)
    return result(message=view.text(), view=view)


@traits(effect="write", repeatable=True, view="day", volatile=True, private=True, undo=(TODOS, REMINDERS))
@tool(response_format="content_and_artifact")
async def plan_day(plan: Annotated[str, Field(min_length=1, max_length=1000)], runtime: Runtime) -> Answer:
    """Note a day told in one sentence: what has a time will ring, the rest are to-dos."""
    lang, now, zone = runtime.state["lang"], present(runtime), await zone_of(runtime)
    planned = items(plan, lang, now, zone)
    left_out = [_why(item, lang, now) for item in planned if item.problem]
    if len(planned) > MOST_PLANNED:
        raise Refused(say("plan_long", lang, most=MOST_PLANNED))
    if len(left_out) == len(planned):
        raise Refused("; ".join(left_out) or say("plan_empty", lang))
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
        view = replace(view, notes=[*view.notes, say("plan_left_out", lang, items="; ".join(left_out))])
    return result(message=view.text(), view=view)


def _why(item: Item, lang: str, now: datetime) -> str:
    """Return why something of a plan was not noted."""
    assert item.problem is not None  # the caller chose those
    at = f" ({worded_instant(item.problem.at, lang, now)})" if item.problem.at else ""
    return say(f"plan_{item.problem.reason}", lang, text=item.text, at=at)
