"""Check the arguments of a model before its tool runs: names, identifiers, permissions."""

from typing import cast

from langchain_core.messages import HumanMessage
from langchain_core.tools import BaseTool
from langgraph.prebuilt.tool_node import ToolCallRequest
from pydantic import BaseModel, ValidationError

from agents.language.identifiers import AliasError, Aliases
from agents.state.talk import Json
from agents.toolkit.context import Context, ToolState
from agents.toolkit.questions import ANSWERS
from agents.toolkit.result import Misused, Refused
from agents.toolkit.runtime import Runtime
from agents.toolkit.traits import traits_of
from prompts import phrase

LONGEST_IDENTIFIER = 100
"""Characters of a wrong identifier that the model is told."""


async def guarded(request: ToolCallRequest, tool: BaseTool) -> ToolCallRequest:
    """Return the call with real identifiers in place of the model's numbers.

    Raises:
        Misused: a model may not set an argument, or an identifier is unknown.
        Refused: the user lacks the permission.
    """
    lang, call = request.state["lang"], request.tool_call
    schema = parameters(tool)
    if forged := sorted(set(call["args"]) - set(schema.get("properties", {}))):
        allowed = ", ".join(schema.get("properties", {})) or "-"
        raise Misused(phrase("tool_forged", lang, names=", ".join(forged), allowed=allowed))
    traits = traits_of(tool)
    context = cast(Context, request.runtime.context)
    if traits.permission and traits.permission not in context.permissions:
        raise Refused(phrase("tool_forbidden", lang, tool=tool.name))
    aliases: Aliases = request.state["aliases"]
    try:
        args = aliases.restore(call["args"], schema, said_by_user(request.state))
    except AliasError as wrong:
        numbers, identifier = ", ".join(wrong.numbers[-20:]) or "-", str(wrong.argument)[:LONGEST_IDENTIFIER]
        raise Misused(phrase("alias_unknown", lang, kind=wrong.kind, given=identifier, known=numbers)) from None
    return request.override(tool_call={**call, "args": args})


async def check_state(request: ToolCallRequest, tool: BaseTool, args: Json) -> None:
    """Run the tool's own check of a write with these accepted arguments.

    Raises:
        Refused: the check found a reason against the write.
    """
    state_check = traits_of(tool).check
    if state_check and (problem := await state_check(args, cast(Runtime, request.runtime))):
        raise Refused(problem)


def parameters(tool: BaseTool) -> Json:
    """Return the JSON schema of what the model may give a tool; trusted parameters are not in it."""
    schema = tool.tool_call_schema
    return dict(schema) if isinstance(schema, dict) else cast(type[BaseModel], schema).model_json_schema()


def accepted(tool: BaseTool, args: Json) -> Json | None:
    """Return the checked arguments as plain data; None if they are invalid, which the tool reports when it is run."""
    schema = tool.tool_call_schema
    if not (isinstance(schema, type) and issubclass(schema, BaseModel)):
        return args
    try:
        return schema.model_validate(args).model_dump(mode="json", warnings=False, fallback=str)
    except ValidationError:
        return None


def said_by_user(state: ToolState) -> list[str]:
    """Return the user's texts in the speaker's history and now.

    The text of a button or a page is left out: others wrote it.
    """
    heard = state["heard"]
    now = [] if heard["source"] in ANSWERS else [heard["text"] or ""]
    return [*now, *(message.text for message in state.get("talk", ()) if isinstance(message, HumanMessage))]
