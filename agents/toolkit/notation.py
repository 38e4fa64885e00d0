"""JSON schemas in short, as models read them."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from agents.language.identifiers import ARGUMENT, MARK, Schema, name_rule, resolved

WORDS = {"string": "text", "integer": "number", "number": "number", "boolean": "yes/no", "null": "nothing"}
DEEPEST = 4
MOST_STEPS = 500
"""The most parts of a schema to write; references can make a small one endless."""
IDENTIFIER = "number"
GIVEN_IDENTIFIER = f"{IDENTIFIER} | text"
"""An identifier in an argument: its number, or itself as the user spelled it out."""


def notation(schema: Schema) -> str:
    """Return the JSON schema of a result in short."""
    return Brief(schema, IDENTIFIER)(schema)


@dataclass(frozen=True)
class Brief:
    """Writes the schemas within a root in short."""

    root: Schema
    identifier: str
    """The word for an identifier."""
    steps: Iterator[int] = field(default_factory=lambda: iter(range(MOST_STEPS)))

    def __call__(self, schema: object, depth: int = 0) -> str:
        """Return a schema within the root in short."""
        schema = resolved(schema, self.root)
        if MARK in schema:
            return self.identifier
        if brief := schema.get("$comment"):
            return str(brief)
        if depth > DEEPEST or next(self.steps, None) is None:
            return "…"
        if isinstance(values := schema.get("enum"), list):
            return " | ".join(map(_value, values))
        if "const" in schema:
            return _value(schema["const"])
        if branches := schema.get("anyOf") or schema.get("oneOf"):
            alternatives = [resolved(branch, self.root) for branch in branches]
            briefs = (self(branch, depth + 1) for branch in alternatives if branch.get("type") != "null")
            return " | ".join(dict.fromkeys(briefs))
        match schema.get("type"):
            case "array":
                return f"[{self._entries(schema, depth + 1)}]"
            case "object":
                return f"{{{self._members(schema, depth + 1)}}}"
            case [*kinds]:
                return " | ".join(self({**schema, "type": kind}, depth) for kind in kinds if kind != "null")
        return WORDS.get(str(schema.get("type")), "any")

    def _entries(self, schema: Schema, depth: int) -> str:
        if isinstance(first := schema.get("prefixItems"), list):
            return ", ".join(self(entry, depth) for entry in first)
        return self(schema.get("items", {}), depth)

    def _members(self, schema: Schema, depth: int) -> str:
        if isinstance(inner := schema.get("properties"), Mapping) and inner:
            return ", ".join(f"{name}: {self(member, depth)}" for name, member in inner.items())
        names = name_rule(schema, self.root)
        if MARK in names or names == ARGUMENT:
            return f"{self(names)}: {self(schema.get('additionalProperties', {}), depth)}"
        return "…"


def _value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
