"""`find_tools` and `call_tool`: how a model reaches tools that are not bound."""

from typing import Any

from langchain_core.messages.tool import ToolCall
from langchain_core.tools import BaseTool, StructuredTool, tool
from langgraph.prebuilt import ToolRuntime

from agents.shelf import Shelf, cards_of
from agents.state import Context
from prompts import phrase

FIND = "find_tools"
CALL = "call_tool"


@tool(CALL)
def call_tool(name: str, args: dict[str, Any] | None = None) -> str:
    """Call a tool by its card. name: as on the card. args: its parameters by name."""
    return name


def find_tools(shelf: Shelf) -> BaseTool:
    """Return the tool that looks for tools on a shelf."""

    async def find(query: str, runtime: ToolRuntime[Context, Any]) -> str:
        lang = runtime.state["lang"]
        return cards_of(shelf.found(query), lang) or phrase("tools_none", lang)

    return StructuredTool.from_function(
        coroutine=find,
        name=FIND,
        description="Find more tools. query: what the tool shall do, in a few words.",
    )


def meant(call: ToolCall) -> ToolCall:
    """Return the call that a `call_tool` stands for; any other as it is."""
    name, args = call["args"].get("name"), call["args"].get("args") or {}
    if call["name"] != CALL or not isinstance(name, str) or not isinstance(args, dict):
        return call
    return {**call, "name": name, "args": args}
