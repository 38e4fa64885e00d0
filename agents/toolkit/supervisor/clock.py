"""Date and time."""

from datetime import datetime

from langchain_core.tools import tool

from agents.memory.preferences import zone_of_user
from agents.toolkit import Runtime, traits
from prompts import phrase, table


@traits(volatile=True, shortcut=True, always=True)
@tool
async def current_time(runtime: Runtime) -> str:
    """Tell the date, weekday and time now."""
    now = datetime.now(await zone_of_user(runtime.store, runtime.context.user))
    lang = runtime.state["lang"]
    weekday = table("texts", lang)["weekdays"][now.weekday()]
    return phrase("now", lang, weekday=weekday, date=f"{now:%Y-%m-%d}", time=f"{now:%H:%M}", zone=f"{now:%Z}")
