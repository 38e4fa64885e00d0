"""Schemas in few words, for a model: `find_orders(name: text, limit?: number) -> [{id: number, name: text}]`."""

from dataclasses import dataclass

from langchain_core.tools import BaseTool

from agents.language.identifiers import MARK, Schema, name_rule, resolved
from agents.toolkit.arguments import parameters
from agents.toolkit.result import schema_of
from agents.toolkit.traits import traits_of

WORDS = {"string": "text", "integer": "number", "number": "number", "boolean": "yes/no", "null": "nothing"}
DEEPEST = 4
IDENTIFIER = "number"
GIVEN_IDENTIFIER = f"{IDENTIFIER} | text"
"""An identifier in an argument: its number, or itself as the user spelled it out."""


def signature(tool: BaseTool) -> str:
    """Return a tool's name, parameters and result; a `?` marks what may be left out."""
    schema = parameters(tool)
    arguments, required = schema.get("properties", {}), schema.get("required", ())
    brief = _Brief(schema, GIVEN_IDENTIFIER)
    named = ", ".join(f"{name}{'' if name in required else '?'}: {brief(inner)}" for name, inner in arguments.items())
    back = schema_of(traits_of(tool).result)
    return f"{tool.name}({named}){f' -> {notation(back)}' if back else ''}"


def notation(schema: Schema) -> str:
    """Return the JSON schema of a result in short."""
    return _Brief(schema, IDENTIFIER)(schema)


@dataclass(frozen=True)
class _Brief:
    """Writes the schemas within a root in short."""

    root: Schema
    identifier: str
    """What is written for an identifier."""

    def __call__(self, schema: Schema, depth: int = 0) -> str:
        schema = resolved(schema, self.root)
        if MARK in schema:
            return self.identifier
        if brief := schema.get("$comment"):
            return str(brief)
        if depth > DEEPEST:
            return "…"
        if "enum" in schema:
            return " | ".join(str(value) for value in schema["enum"])
        if "const" in schema:
            return str(schema["const"])
        if branches := schema.get("anyOf") or schema.get("oneOf"):
            return " | ".join(dict.fromkeys(self(branch, depth) for branch in branches if branch.get("type") != "null"))
        match schema.get("type"):
            case "array":
                return f"[{self(schema.get('items', {}), depth + 1)}]"
            case "object":
                return f"{{{self._members(schema, depth + 1)}}}"
        return WORDS.get(str(schema.get("type")), "any")

    def _members(self, schema: Schema, depth: int) -> str:
        if inner := schema.get("properties"):
            return ", ".join(f"{name}: {self(member, depth)}" for name, member in inner.items())
        if MARK in (names := name_rule(schema, self.root)):
            return f"{self(names)}: {self(schema.get('additionalProperties', {}), depth)}"
        return "…"
