"""What an MCP server says of its tools: cleaned, bounded, and held against what the file says of them."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from mcp.types import Tool

from agents.language.identifiers import MARK, Schema
from agents.language.text.clean import clean
from agents.remote.mcp_file import OWN, ServerTool
from agents.remote.yaml_file import fault
from agents.state.talk import Json

LONGEST_DESCRIPTION = 1_000
"""Characters of a server's own words on a tool."""
LONGEST_PART = 300
"""Characters of its words on a parameter, and of a name or a value in a schema."""
LARGEST_SCHEMA = 20_000
"""Characters of a schema as JSON."""
MOST_VALUES = 200
"""Values that a schema lists, and parts that it combines."""
DEEPEST = 12
"""Levels of a schema."""
TEXTS = ("title", "description")
BY_NAME = ("properties", "$defs", "definitions")
INNER = ("items", "additionalProperties", "not", "contains")
LISTED = ("anyOf", "oneOf", "allOf", "prefixItems")
VALUES = frozenset(
    (
        *("enum", "const", "default", "type", "required", "$ref", "format", "pattern", "uniqueItems"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
        *("minLength", "maxLength", "minItems", "maxItems"),
    )
)


def trimmed(tool: Tool) -> Tool:
    """Return a tool with the texts that a model may read: clean, cut, and none in keywords that check nothing.

    Raises:
        ValueError: a schema is too large, or has a name or a value that cannot be shown.
    """
    return tool.model_copy(
        update={
            "title": None,
            "description": clean(tool.description or "")[:LONGEST_DESCRIPTION],
            "inputSchema": _schema(tool.inputSchema),
            "outputSchema": None if tool.outputSchema is None else _schema(tool.outputSchema),
        }
    )


def fingerprint(tool: Tool) -> str:
    """Return what changes when the server describes the tool in other words, or with other parameters or results."""
    described = [tool.description, tool.inputSchema, tool.outputSchema]
    return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()


def _schema(schema: Schema) -> Schema:
    trimmed: Schema = _trimmed(schema, DEEPEST)
    if len(json.dumps(trimmed, ensure_ascii=False)) > LARGEST_SCHEMA:
        raise ValueError(f"its schema has more than {LARGEST_SCHEMA} characters")
    return trimmed


def _trimmed(schema: Any, left: int) -> Any:
    if isinstance(schema, bool):
        return schema
    if not isinstance(schema, Mapping) or not left:
        raise ValueError("its schema is nested too deeply, or is none")
    bounded: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword in TEXTS and isinstance(value, str):
            bounded[keyword] = clean(value)[:LONGEST_PART]
        elif keyword in BY_NAME and isinstance(value, Mapping):
            bounded[keyword] = {_shown(name): _trimmed(inner, left - 1) for name, inner in _few(value).items()}
        elif keyword in INNER:
            bounded[keyword] = _trimmed(value, left - 1)
        elif keyword in LISTED and isinstance(value, list):
            bounded[keyword] = [_trimmed(inner, left - 1) for inner in _few(value)]
        elif keyword in VALUES:
            bounded[keyword] = _shown(value)
    return bounded


def _few(values: Any) -> Any:
    if len(values) > MOST_VALUES:
        raise ValueError(f"its schema lists more than {MOST_VALUES} values")
    return values


def _shown(value: Any) -> Any:
    """Return a name or a value as it is: cut or cleaned it would be another.

    Raises:
        ValueError: it cannot be shown.
    """
    if isinstance(value, str) and (len(value) > LONGEST_PART or clean(value) != value):
        raise ValueError("its schema has a name or a value that is too long, or has characters that nobody sees")
    if isinstance(value, Mapping):
        return {_shown(name): _shown(inner) for name, inner in _few(value).items()}
    return [_shown(inner) for inner in _few(value)] if isinstance(value, list) else value


def check_fits(file: str, where: str, tool: Tool, spec: ServerTool) -> None:
    """Hold what the file says of a tool against what the server says.

    Raises:
        ConfigError: the file names what the server's tool does not have, or sets what cannot hold it.
    """
    own = tool.inputSchema.get("properties", {})
    there_are = f"it has {', '.join(own) or 'none'}"
    for name, parameter in spec.parameters.items():
        place = f"{where}.parameters.{name}"
        if name not in own:
            raise fault(file, place, f"the tool has no such parameter; {there_are}")
        kind = own[name].get("type", "string")
        if parameter.trusted and kind != "string":
            raise fault(file, place, f"only a string is trusted, this is of type {kind}")
        if parameter.opaque and kind != "string":
            raise fault(file, place, f"only a string is opaque, this is of type {kind}")
    if unknown := sorted(set(spec.key) - set(own)):
        raise fault(file, f"{where}.key", f"the tool has no parameter {', '.join(unknown)}; {there_are}")
    if unknown := sorted(set(spec.result.opaque) - _fields(tool.outputSchema)):
        raise fault(file, f"{where}.result.opaque", f"the server names no field {', '.join(unknown)} in its results")


def arguments(tool: Tool, spec: ServerTool) -> Json:
    """Return the schema of what the model gives: without what the system sets, identifiers marked."""
    schema = tool.inputSchema
    shown = {name: body for name, body in schema.get("properties", {}).items() if name not in spec.hidden}
    for name, parameter in spec.parameters.items():
        if name in shown:
            described = {"description": parameter.description} if parameter.description else {}
            mark = {MARK: parameter.opaque} if parameter.opaque else {}
            shown[name] = {**shown[name], **described, **mark}
    required = [name for name in schema.get("required", []) if name not in spec.hidden]
    return {**schema, "type": "object", "properties": shown, "required": required}


def result(tool: Tool, spec: ServerTool) -> Schema | None:
    """Return the schema of what the model reads: the file's, else the server's as far as that is what is read."""
    if spec.result.schema_ is not None:
        return spec.result.schema_
    schema = _marked(tool.outputSchema, spec.result.opaque)
    if not schema or spec.result.object != OWN or spec.result.message or spec.page:
        return None
    shared = {"$defs": schema["$defs"]} if "$defs" in schema else {}
    if is_wrapped(tool):
        schema = {**schema["properties"]["result"], **shared}
    if spec.options is None:
        return dict(schema)
    # The model gets the candidate that is chosen.
    return {**schema["items"], **shared} if spec.options.each == OWN and "items" in schema else None


def is_wrapped(tool: Tool) -> bool:
    """Tell whether a result is wrapped in an object because it is none: the protocol knows only objects."""
    return list((tool.outputSchema or {}).get("properties", {})) == ["result"]


def _marked(schema: Any, opaque: Mapping[str, str]) -> Any:
    if isinstance(schema, Mapping):
        marked = {name: _marked(value, opaque) for name, value in schema.items()}
        if isinstance(properties := marked.get("properties"), dict):
            for name in opaque.keys() & properties.keys():
                properties[name] = {**properties[name], MARK: opaque[name]}
        return marked
    return [_marked(value, opaque) for value in schema] if isinstance(schema, list) else schema


def _fields(schema: object) -> set[str]:
    inner = schema.values() if isinstance(schema, Mapping) else schema if isinstance(schema, list) else ()
    own = schema.get("properties") if isinstance(schema, Mapping) else None
    return {*(own if isinstance(own, Mapping) else ()), *(name for value in inner for name in _fields(value))}
