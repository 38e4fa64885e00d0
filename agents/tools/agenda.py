"""What is on today, on a day or in a week, what is next or overdue, and how long is left."""

from datetime import UTC, datetime
from typing import Annotated

from langchain_core.tools import tool
from langgraph.store.base import BaseStore
from pydantic import Field

from agents.memory.preferences import zone_of_user
from agents.memory.reminders import Reminders
from agents.memory.store import namespace_of
from agents.schedule.period import period
from agents.text.vocabulary import listening
from agents.toolkit import Answer, Refused, Runtime, result, traits
from agents.tools.day_plan import Agenda
from agents.tools.kept_reminders import reminders_of
from agents.tools.todos import MOST
from prompts import phrase

TODAY = "today"
Asked = Annotated[str, Field(min_length=1, max_length=200)]


@traits(view="day", volatile=True, shortcut=True, private=True)
@tool(response_format="content_and_artifact")
async def agenda(runtime: Runtime, when: Asked = TODAY) -> Answer:
    """Tell what is on. when: "Friday", "this week", "next", "overdue", "how long" (timers), "how many"."""
    lang, context = runtime.state["lang"], runtime.context
    assert runtime.store is not None  # the graph is always compiled with a store
    plans = await agenda_of(reminders_of(runtime), runtime.store, context.user, lang)
    asked = period(
        TODAY if when == TODAY else when, "en" if when == TODAY else listening(when, lang), plans.now, plans.zone
    )
    if asked is None:
        raise Refused(phrase("agenda_unclear", lang, when=when))
    view = plans.shown(asked)
    return result(message=view.text(), view=view)


async def agenda_of(reminders: Reminders, store: BaseStore, user: str, lang: str) -> Agenda:
    """Return what a user has before them, by the clock that rings."""
    items = await store.asearch(namespace_of(user, "todos"), limit=MOST)
    todos = sorted((item.value for item in items), key=lambda todo: int(todo["number"]))
    now = datetime.fromtimestamp(int(reminders.now()), UTC)
    return Agenda(await reminders.live(user), todos, lang, now, await zone_of_user(store, user))


async def today_of(reminders: Reminders, store: BaseStore, user: str, lang: str, *, if_any: bool = False) -> str:
    """Return a user's day in words; empty if there is nothing to tell and only that is wanted (`if_any`)."""
    plans = await agenda_of(reminders, store, user, lang)
    today = period(TODAY, "en", plans.now, plans.zone)
    assert today is not None  # English knows today
    return "" if if_any and plans.is_empty(today) else plans.day(today).text()
