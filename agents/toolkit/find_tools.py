"""`find_tools` and `call_tool`: how a model reaches tools that are not bound."""

import json

from langchain_core.messages.tool import ToolCall
from langchain_core.tools import BaseTool, StructuredTool, tool

from agents.state.talk import Json
from agents.toolkit.result import Misused
from agents.toolkit.runtime import Runtime
from agents.toolkit.shelf import Shelf, cards_of
from prompts import phrase

FIND = "find_tools"
CALL = "call_tool"
FINDING = (FIND, CALL)
"""The tools by which a speaker reaches tools that are not bound; other speakers do not have them."""


@tool(CALL)
def call_tool(name: str, runtime: Runtime, args: Json | None = None) -> str:
    """Call a tool by its card. name: as on the card. args: its parameters by name."""
    # `meant` puts the named tool in its place; only a call without a valid name comes here.
    raise Misused(phrase("tool_unknown", runtime.state["lang"], tool=name, known=FIND))


def find_tools(shelf: Shelf) -> BaseTool:
    """Return the tool that looks for tools on a shelf."""

    async def find(query: str, runtime: Runtime) -> str:
        lang = runtime.state["lang"]
        return cards_of(shelf.search(query), lang) or phrase("tools_none", lang)

    return StructuredTool.from_function(
        coroutine=find,
        name=FIND,
        description="Find more tools. query: what the tool shall do, in a few words.",
    )


def meant(call: ToolCall) -> ToolCall:
    """Return the call that a `call_tool` stands for; its arguments may be an object or JSON. Other calls stay."""
    if call["name"] != CALL:
        return call
    name, args = call["args"].get("name"), _object(call["args"].get("args") or {})
    if isinstance(name, str) and name != CALL and isinstance(args, dict):
        return {**call, "name": name, "args": args}
    return call


def _object(args: object) -> object:
    try:
        return json.loads(args) if isinstance(args, str) else args
    except (ValueError, RecursionError):
        return args
