"""Providers' forms of tools, as strict validators: each returns the faults.

`common` is the part that all of them take. The others read a request's body from the provider's own client.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

TYPES = {"string", "number", "integer", "boolean", "object", "array", "null"}
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
ANY_TYPE = {"type", "description", "title", "default"}
OWN = {
    "object": {"properties", "required", "additionalProperties"},
    "array": {"items", "minItems", "maxItems", "uniqueItems"},
    "string": {"enum", "minLength", "maxLength", "pattern", "format"},
    "number": {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "format"},
}
GEMINI = {
    *("type", "format", "title", "description", "nullable", "enum", "items", "properties", "required", "anyOf"),
    *("maxItems", "minItems", "minLength", "maxLength", "pattern", "default", "minimum", "maximum"),
}


def common(schema: Any, where: str = "", left: int = 12) -> list[str]:
    """Return the parts of a tool's parameters that some providers refuse."""
    if not isinstance(schema, Mapping) or not left:
        return [f"{where}: no schema, or too deep"]
    if "anyOf" in schema:
        wrong = [] if where and len(schema["anyOf"]) > 1 else [f"{where}: a choice here"]
        wrong += [f"{where}: {key} beside a choice" for key in schema.keys() - {"anyOf", "description", "default"}]
        return wrong + [
            it for place, inner in enumerate(schema["anyOf"]) for it in common(inner, f"{where}|{place}", left)
        ]
    kind = schema.get("type")
    if not isinstance(kind, str) or kind not in TYPES or (not where and kind != "object"):
        return [f"{where}: of type {kind}"]
    own = OWN.get("number" if kind == "integer" else kind, set())
    wrong = [f"{where}: {key} of {kind}" for key in schema.keys() - own - ANY_TYPE]
    if kind == "object":
        inner = schema.get("properties")
        if not isinstance(inner, Mapping) or (where and not inner):
            return [*wrong, f"{where}: an object without properties"]
        wrong += [f"{where}: required {name}" for name in schema.get("required", ()) if name not in inner]
        wrong += [f"{where}: the name {name}" for name in inner if not NAME.fullmatch(name)]
        return wrong + [it for name, rule in inner.items() for it in common(rule, f"{where}.{name}", left - 1)]
    if kind == "array":
        return wrong + common(schema.get("items"), f"{where}[]", left - 1)
    if "enum" in schema and not all(isinstance(value, str) and value for value in schema["enum"]):
        wrong.append(f"{where}: an enum of {schema['enum']}")
    return wrong


def openai(body: Mapping[str, Any]) -> Iterator[str]:
    """Yield the faults of a request's tools for OpenAI's chat completions."""
    for tool in (each["function"] for each in body.get("tools", ())):
        parameters = tool.get("parameters", {})
        if not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", tool["name"]) or len(tool.get("description", "")) > 1024:
            yield f"{tool['name']}: name or description"
        if parameters.get("type") != "object" or {"oneOf", "anyOf", "allOf", "enum", "not"} & parameters.keys():
            yield f"{tool['name']}: no plain object"
        for node in _nodes(parameters):
            if not isinstance(node, bool) and node.get("type") == "array" and "items" not in node:
                yield f"{tool['name']}: array schema missing items"


def anthropic(body: Mapping[str, Any]) -> Iterator[str]:
    """Yield the faults of a request's tools for Anthropic."""
    for tool in body.get("tools", ()):
        schema = tool["input_schema"]
        if not re.fullmatch(r"[a-zA-Z0-9_-]{1,128}", tool["name"]):
            yield f"{tool['name']}: name"
        if schema.get("type") != "object" or {"oneOf", "anyOf", "allOf"} & schema.keys():
            yield f"{tool['name']}: no plain object"
        for node in _nodes(schema):
            names = node.get("properties", {}) if isinstance(node, Mapping) else {}
            if not all(re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", name) for name in names):
                yield f"{tool['name']}: property keys {[*names]}"


def gemini(body: Mapping[str, Any]) -> Iterator[str]:
    """Yield the faults of a request's tools for Gemini."""
    declared = [it for tool in body.get("tools", ()) for it in tool.get("functionDeclarations", ())]
    for tool in declared:
        if not re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}", tool["name"]):
            yield f"{tool['name']}: name"
        for node in _nodes(tool.get("parameters") or {}):
            kind = str(node.get("type", "")).upper()
            if unknown := {_camel(key) for key in node} - GEMINI:
                yield f"{tool['name']}: unknown {sorted(unknown)}"
            if kind == "ARRAY" and "items" not in node:
                yield f"{tool['name']}: items: missing field"
            if any(not isinstance(value, str) or not value for value in node.get("enum", ())):
                yield f"{tool['name']}: enum {node['enum']}"
            if node.get("enum") and kind != "STRING":
                yield f"{tool['name']}: enum: only allowed for STRING type"
            if kind == "OBJECT" and not node.get("properties"):
                yield f"{tool['name']}: properties: should be non-empty for OBJECT type"
            if set(node.get("required", ())) - set(node.get("properties", ())):
                yield f"{tool['name']}: required: property is not defined"


def _camel(key: str) -> str:
    first, *rest = key.split("_")
    return first + "".join(part.capitalize() for part in rest)


def _nodes(schema: Any) -> Iterator[Any]:
    yield schema
    if isinstance(schema, Mapping):
        inner = [rule for key in ("anyOf", "any_of", "prefixItems") for rule in schema.get(key, ())]
        inner += schema.get("properties", {}).values()
        for rule in (*inner, *([schema["items"]] if "items" in schema else [])):
            yield from _nodes(rule)
