"""Hold what a file says of a tool against the schemas of its MCP server, and make of both what a model is shown."""

from collections.abc import Mapping
from typing import Any

from mcp.types import Tool

from agents.language.identifiers import MARK
from agents.language.identifiers.json_schema import Schema
from agents.remote.mcp_file import OWN, ServerTool
from agents.remote.yaml_file import fault
from agents.state.talk import Json


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
    """Return the names of all fields in a schema."""
    inner = schema.values() if isinstance(schema, Mapping) else schema if isinstance(schema, list) else ()
    own = schema.get("properties") if isinstance(schema, Mapping) else None
    return {*(own if isinstance(own, Mapping) else ()), *(name for value in inner for name in _fields(value))}
