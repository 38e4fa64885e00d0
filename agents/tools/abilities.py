"""What this assistant can do, for whoever asks."""

from langchain_core.tools import tool

from agents.toolkit import Runtime, traits
from prompts import prompt


@traits(shortcut=True, always=True)
@tool
async def abilities(runtime: Runtime) -> str:
    """Tell what you can do for the user."""
    return prompt("abilities", runtime.state["lang"])
