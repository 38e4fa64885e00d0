"""Date and time."""

from datetime import datetime

from langchain_core.tools import tool


@tool
async def current_time() -> str:
    """Tell the date, weekday and time now."""
    return datetime.now().astimezone().strftime("%A, %Y-%m-%d %H:%M (%Z)")
