"""What stands between the model's arguments and a tool: nothing forged, nothing unknown, nothing forbidden."""

from typing import Any, cast

from langchain_core.tools import BaseTool
from langgraph.prebuilt.tool_node import ToolCallRequest
from pydantic import BaseModel, ValidationError

from agents.aliases import AliasError, Aliases
from agents.state import Context
from agents.tools.outcome import Misused, Refused
from agents.tools.traits import traits_of
from prompts import phrase


async def guarded(request: ToolCallRequest, tool: BaseTool) -> ToolCallRequest:
    """Return the call with real identifiers in place of the model's numbers.

    Raises:
        Misused: an argument is not the model's to set, or a number stands for nothing.
        Refused: the user may not do this, or the state of things forbids it.
    """
    lang, call = request.state["lang"], request.tool_call
    known = parameters(tool)
    if forged := sorted(set(call["args"]) - set(known.get("properties", {}))):
        allowed = ", ".join(known.get("properties", {})) or "-"
        raise Misused(phrase("tool_forged", lang, names=", ".join(forged), allowed=allowed))
    found = traits_of(tool)
    context: Context = cast(Context, request.runtime.context)
    if found.permission and found.permission not in context.permissions:
        raise Refused(phrase("tool_forbidden", lang, tool=tool.name))
    try:
        args = _aliases(request).restore(call["args"], known)
    except AliasError as wrong:
        numbers = ", ".join(wrong.known[-20:]) or "-"
        raise Misused(phrase("alias_unknown", lang, kind=wrong.kind, given=wrong.given, known=numbers)) from None
    if found.check and _valid(tool, args) and (problem := await found.check(args, request.runtime)):
        raise Refused(problem)
    return request.override(tool_call={**call, "args": args})


def parameters(tool: BaseTool) -> dict[str, Any]:
    """Return the JSON schema of what the model may give a tool; trusted parameters are not in it."""
    schema = tool.tool_call_schema
    return dict(schema) if isinstance(schema, dict) else cast(type[BaseModel], schema).model_json_schema()


def _aliases(request: ToolCallRequest) -> Aliases:
    aliases: Aliases = request.state["aliases"]
    return aliases


def _valid(tool: BaseTool, args: dict[str, Any]) -> bool:
    """Tell whether the tool would take the arguments; if not, it is for the tool to say what is wrong."""
    schema = tool.tool_call_schema
    if not (isinstance(schema, type) and issubclass(schema, BaseModel)):
        return True
    try:
        schema.model_validate(args)
    except ValidationError:
        return False
    return True
