"""What an MCP server says of its tools: cleaned, bounded, and told apart from what it said at the last start."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from mcp.types import Tool

from agents.language.identifiers.json_schema import Schema
from agents.language.text.clean import clean

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
