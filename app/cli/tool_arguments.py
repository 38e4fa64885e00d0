"""Arguments of a tool as typed on a command line: `number=2 items='["milk"]' text=milk`, read by the tool's schema."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.tools import BaseTool
from pydantic import BaseModel, ValidationError

from agents.errors import UsageError
from agents.identifiers import MARK
from agents.identifiers.json_schema import resolved
from agents.toolkit.guard import parameters


def typed(pairs: Sequence[str], tool: BaseTool) -> dict[str, Any]:
    """Return the arguments that these pairs stand for: a text as it is, anything else as JSON.

    Raises:
        UsageError: a pair is none, names what the tool does not take, or the tool's schema refuses it.
    """
    schema = parameters(tool)
    known = schema.get("properties", {})
    given: dict[str, Any] = {}
    for pair in pairs:
        name, separator, raw = pair.partition("=")
        if not separator or name in given:
            raise UsageError(f"write each argument once, as name=value; found {pair!r}")
        if name not in known:
            raise UsageError(f"{tool.name} takes no {name!r}; it takes: {', '.join(known) or 'nothing'}")
        given[name] = _value(name, raw, known[name], schema)
    _check(tool, given, schema)
    return given


def _value(name: str, raw: str, wanted: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    branches = [resolved(one, root) for one in _branches(resolved(wanted, root))]
    for one in branches:
        for allowed in (*one.get("enum", ()), *([one["const"]] if "const" in one else [])):
            if raw == str(allowed):
                return allowed
    if any(one.get("type") == "string" or MARK in one for one in branches):
        return raw
    try:
        return json.loads(raw)
    except ValueError:
        kinds = " or ".join(str(one.get("type", "any")) for one in branches if one.get("type") != "null")
        raise UsageError(f'{name} is {kinds}, written as JSON (2, true, [1, 2], ["a"]); found {raw!r}') from None


def _branches(schema: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return schema.get("anyOf") or schema.get("oneOf") or [schema]


def _check(tool: BaseTool, given: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
    """Hold the arguments against the schema; what only a JSON schema says is for the tool to refuse."""
    if missing := [name for name in schema.get("required", ()) if name not in given]:
        raise UsageError(f"{tool.name} needs {', '.join(missing)}")
    model = tool.tool_call_schema
    if isinstance(model, type) and issubclass(model, BaseModel):
        try:
            model.model_validate(given)
        except ValidationError as wrong:
            problems = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in wrong.errors())
            raise UsageError("; ".join(problems)) from None
