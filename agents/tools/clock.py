"""Date and time."""

from datetime import datetime
from typing import Any

from langchain_core.tools import tool
from langgraph.prebuilt import ToolRuntime

from agents.context import Context
from agents.memory.preferences import zone_of_user
from agents.toolkit.traits import OUTSIDE, traits
from prompts import phrase, table


@traits(shortcut=True, always=True)
@tool
async def current_time(runtime: ToolRuntime[Context, Any]) -> str:
    """Tell the date, weekday and time now."""
    now = datetime.now(await zone_of_user(runtime.store, runtime.context.user))
    lang = runtime.state["lang"]
    weekday = table("texts", lang)["weekdays"][now.weekday()]
    return phrase("now", lang, weekday=weekday, date=f"{now:%Y-%m-%d}", time=f"{now:%H:%M}", zone=f"{now:%Z}")


current_time.tags = [OUTSIDE]
