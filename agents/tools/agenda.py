"""What is on today, on a day or in a week, what is next or overdue, and how long is left."""

from typing import Annotated

from langchain_core.tools import tool
from pydantic import Field

from agents.agenda import TODAY, agenda_of
from agents.language.schedule.period import period
from agents.language.text.vocabulary import listening
from agents.toolkit import Answer, Refused, Runtime, result, traits
from agents.tools.kept_reminders import reminders_of
from prompts import phrase

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
