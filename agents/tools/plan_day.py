"""A plan of the day from one sentence, shown as a day."""

from dataclasses import replace
from datetime import datetime
from typing import Annotated

from langchain_core.tools import tool
from pydantic import Field

from agents.agenda import agenda_of
from agents.language.schedule.period import day_of
from agents.language.schedule.plan import Item, items
from agents.language.schedule.wording import worded_instant
from agents.toolkit import Answer, Refused, Runtime, result, traits
from agents.tools.kept_reminders import REMINDERS, present, reminders_of, zone_of
from agents.tools.reminders import stored
from agents.tools.todos import TODOS, put_on_list
from prompts import phrase

MOST = 30
"""Things of one sentence."""


@traits(effect="write", repeatable=True, view="day", volatile=True, private=True, undo=(TODOS, REMINDERS))
@tool(response_format="content_and_artifact")
async def plan_day(plan: Annotated[str, Field(min_length=1, max_length=1000)], runtime: Runtime) -> Answer:
    """Note a day told in one sentence: what has a time will ring, the rest are to-dos."""
    lang, now, zone, context = runtime.state["lang"], present(runtime), await zone_of(runtime), runtime.context
    planned = items(plan, lang, now, zone)
    left_out = [_why(item, lang, now) for item in planned if item.problem]
    if len(planned) > MOST:
        raise Refused(phrase("plan_long", lang, most=MOST))
    if len(left_out) == len(planned):
        raise Refused("; ".join(left_out) or phrase("plan_empty", lang))
    moments = [(place, item) for place, item in enumerate(planned) if item.moment]
    for place, item in moments:
        assert item.moment is not None  # as chosen
        await stored(item.moment, runtime, f"{runtime.tool_call_id}-{place}", text=item.text)
    if todos := [item.text for item in planned if not item.moment and not item.problem]:
        await put_on_list(todos, runtime)
    assert runtime.store is not None  # the graph is always compiled with a store
    plans = await agenda_of(reminders_of(runtime), runtime.store, context.user, lang)
    first = min((item.moment.at for _, item in moments if item.moment), default=plans.now.astimezone(zone))
    view = plans.day(day_of(first))
    if left_out:
        view = replace(view, notes=[*view.notes, phrase("plan_left_out", lang, items="; ".join(left_out))])
    return result(message=view.text(), view=view)


def _why(item: Item, lang: str, now: datetime) -> str:
    """Return why something of a plan was not noted."""
    assert item.problem is not None  # the caller chose those
    at = f" ({worded_instant(item.problem.at, lang, now)})" if item.problem.at else ""
    return phrase(f"plan_{item.problem.reason}", lang, text=item.text, at=at)
