"""Schemas in few words, for a model: `find_orders(name: text, limit?: number) -> [{id: number, name: text}]`."""

from collections.abc import Mapping
from typing import Any

from langchain_core.tools import BaseTool

from agents.aliases import MARK
from agents.schemas import name_rule, resolved
from agents.tools.guarding import parameters
from agents.tools.outcome import schema_of
from agents.tools.traits import traits_of

WORDS = {"string": "text", "integer": "number", "number": "number", "boolean": "yes/no", "null": "nothing"}
DEEPEST = 4


def signature(tool: BaseTool) -> str:
    """Return a tool's name, parameters and result; a `?` marks what may be left out."""
    schema = parameters(tool)
    wanted, required = schema.get("properties", {}), schema.get("required", ())
    named = ", ".join(f"{n}{'' if n in required else '?'}: {notation(one, schema)}" for n, one in wanted.items())
    back = schema_of(traits_of(tool).result)
    return f"{tool.name}({named}){f' -> {notation(back)}' if back else ''}"


def notation(schema: Mapping[str, Any], root: Mapping[str, Any] | None = None, depth: int = 0) -> str:
    """Return a JSON schema in short."""
    root = schema if root is None else root
    schema = resolved(schema, root)
    if MARK in schema:
        return "number"
    if depth > DEEPEST:
        return "…"
    if "enum" in schema:
        return " | ".join(str(value) for value in schema["enum"])
    if "const" in schema:
        return str(schema["const"])
    if branches := schema.get("anyOf") or schema.get("oneOf"):
        found = [notation(one, root, depth) for one in branches if one.get("type") != "null"]
        return " | ".join(dict.fromkeys(found))
    match schema.get("type"):
        case "array":
            return f"[{notation(schema.get('items', {}), root, depth + 1)}]"
        case "object" if schema.get("properties"):
            inner = schema["properties"].items()
            return f"{{{', '.join(f'{name}: {notation(one, root, depth + 1)}' for name, one in inner)}}}"
        case "object" if MARK in (names := name_rule(schema, root)):
            return f"{{{notation(names, root)}: {notation(schema.get('additionalProperties', {}), root, depth + 1)}}}"
        case "object":
            return "{…}"
    return WORDS.get(str(schema.get("type")), "any")
