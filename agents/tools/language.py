"""The user's settings: the language of the conversation."""

from typing import Any, Literal

from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langgraph.prebuilt import ToolRuntime
from langgraph.types import Command

from agents.context import Context
from agents.memory.preferences import Preferences
from agents.toolkit.traits import traits
from prompts import phrase


@traits(effect="write", repeatable=True, always=True)
@tool
async def change_language(language: Literal["en", "ru"], runtime: ToolRuntime[Context, Any]) -> Command[Any]:
    """Hold the conversation in another language from now on, when the user asks for it."""
    await Preferences(lang=language).save(runtime.store, runtime.context.user)
    answer = ToolMessage(phrase("language_set", language), tool_call_id=runtime.tool_call_id or "")
    return Command(update={"lang": language, "messages": [answer]})
