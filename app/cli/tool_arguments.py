"""Arguments of a tool as typed on a command line: `number=2 items='["milk"]' text=milk`, read by the tool's schema."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.tools import BaseTool
from pydantic import BaseModel, ValidationError

from agents.errors import UsageError
from agents.language.identifiers import MARK, resolved
from agents.toolkit.arguments import parameters


def typed(pairs: Sequence[str], tool: BaseTool) -> dict[str, Any]:
    """Return the arguments that these pairs stand for: a text as it is, anything else as JSON.

    Raises:
        UsageError: a pair is none, names what the tool does not take, or the tool's schema refuses it.
    """
    schema = parameters(tool)
    fields = schema.get("properties", {})
    args: dict[str, Any] = {}
    for pair in pairs:
        name, separator, raw = pair.partition("=")
        if not separator or name in args:
            raise UsageError(f"write each argument once, as name=value; found {pair!r}")
        if name not in fields:
            raise UsageError(f"{tool.name} takes no {name!r}; it takes: {', '.join(fields) or 'nothing'}")
        args[name] = _value(name, raw, fields[name], schema)
    _check(tool, args, schema)
    return args


def _value(name: str, raw: str, field: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    resolved_field = resolved(field, root)
    branches = [
        resolved(branch, root)
        for branch in resolved_field.get("anyOf") or resolved_field.get("oneOf") or [resolved_field]
    ]
    allowed = [value for branch in branches for value in (*branch.get("enum", ()), branch.get("const"))]
    if raw in (by_text := {str(value): value for value in allowed if value is not None}):
        return by_text[raw]
    if any(branch.get("type") == "string" or MARK in branch for branch in branches):
        return raw
    try:
        return json.loads(raw)
    except ValueError:
        kinds = " or ".join(str(branch.get("type", "any")) for branch in branches if branch.get("type") != "null")
        raise UsageError(f'{name} is {kinds}, written as JSON (2, true, [1, 2], ["a"]); found {raw!r}') from None


def _check(tool: BaseTool, args: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
    """Hold the arguments against the schema; what only a JSON schema says is for the tool to refuse."""
    if missing := [name for name in schema.get("required", ()) if name not in args]:
        raise UsageError(f"{tool.name} needs {', '.join(missing)}")
    model = tool.tool_call_schema
    if isinstance(model, type) and issubclass(model, BaseModel):
        try:
            model.model_validate(args)
        except ValidationError as wrong:
            problems = (f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in wrong.errors())
            raise UsageError("; ".join(problems)) from None
