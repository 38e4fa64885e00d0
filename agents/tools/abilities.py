"""What this assistant can do, for whoever asks."""

from typing import Any

from langchain_core.tools import tool
from langgraph.prebuilt import ToolRuntime

from agents.context import Context
from agents.toolkit.traits import traits
from prompts import prompt


@traits(shortcut=True, always=True)
@tool
async def abilities(runtime: ToolRuntime[Context, Any]) -> str:
    """Tell what you can do for the user."""
    return prompt("abilities", runtime.state["lang"])
