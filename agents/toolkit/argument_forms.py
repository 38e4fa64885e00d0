"""Ways back: from the form in which a model writes an argument to the form that the tool takes.

A value that has the tool's form already stays as it is.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import reduce
from typing import Any

from agents.language.identifiers import Schema
from agents.state.speaker_state import Json

Way = Callable[[Any], Any]
WRITTEN = "arguments"
"""The parameter in which a model writes the arguments of a tool with free arguments."""

PASSED = {name: f"{name} (given)" for name in ("self", "config", "run_manager", "runtime")}
"""The names of arguments on their way through LangChain, which sets the own ones itself."""
RECEIVED = {passed: name for name, passed in PASSED.items()}


def passed(args: Json) -> Json:
    """Return arguments under other names than those that LangChain sets."""
    return {PASSED.get(name, name): value for name, value in args.items()}


def received(args: Json) -> Json:
    """Return arguments that were `passed` under their own names."""
    return {RECEIVED.get(name, name): value for name, value in args.items()}


def json_of(value: object) -> object:
    """Return the object or list that a text holds as JSON; any other value as it is."""
    if isinstance(value, str) and value.lstrip().startswith(("{", "[")):
        with suppress(ValueError, RecursionError):
            return json.loads(value)
    return value


def spread(args: Json) -> Json:
    """Return arguments, including those in a JSON text under `WRITTEN`."""
    written = json_of(args.get(WRITTEN))
    others = {name: value for name, value in args.items() if name != WRITTEN}
    return {**others, **written} if isinstance(written, dict) else args


def members_of(ways: Mapping[str, tuple[str, Way | None]]) -> Way:
    """Return the way back for an object, from the name and the way of each member; others stay."""

    def back(value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        named_ways = {key: ways.get(key, (key, None)) for key in value}
        return {name: value[key] if way is None else way(value[key]) for key, (name, way) in named_ways.items()}

    return back


def entries_of(first: Sequence[Way | None], further: Way | None) -> Way:
    """Return the way back for a list, from the ways of its first entries and of all further ones."""

    def back(value: Any) -> Any:
        if not isinstance(value, list):
            return value
        ways = [*first, *[further] * (len(value) - len(first))]
        return [entry if way is None else way(entry) for entry, way in zip(value, ways, strict=False)]

    return back


def scalar(schema: Schema) -> Way:
    """Return the way back for a number or a boolean that may have become a text in a client."""

    def back(value: Any) -> Any:
        with suppress(ValueError):
            parsed = json.loads(value) if isinstance(value, str) else value
            return parsed if fits(parsed, schema) else value
        return value

    return back


def chain(*ways: Way | None) -> Way | None:
    """Return one way back for these ways, one after the other."""
    taken = [way for way in ways if way]
    return (lambda value: reduce(lambda translated, way: way(translated), taken, value)) if taken else None


def branch_of(branches: Sequence[tuple[Schema, Way | None]]) -> Way:
    """Return the way back for a choice: the way of the first branch that the value fits."""

    def back(value: Any) -> Any:
        way = next((way for schema, way in branches if fits(value, schema)), None)
        return value if way is None else way(value)

    return back


def fits(value: object, schema: Schema) -> bool:
    """Tell whether a value follows a schema as a model sees it, as far as its types, names and enums go."""
    if "anyOf" in schema:
        # Where a client would not show a choice with null, null is told in words.
        return value is None or any(fits(value, branch) for branch in schema["anyOf"])
    if "enum" in schema:
        return value in schema["enum"]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    match schema["type"]:
        case "object":
            inner = schema.get("properties", {})
            has_names = isinstance(value, Mapping) and set(schema.get("required", ())) <= value.keys() <= inner.keys()
            return has_names and all(fits(member, inner[name]) for name, member in value.items())  # type: ignore[attr-defined]
        case "array":
            return isinstance(value, list) and all(fits(entry, schema["items"]) for entry in value)
        case "integer":
            return is_number and float(value).is_integer()  # type: ignore[arg-type]
        case "number":
            return is_number
        case "boolean":
            return isinstance(value, bool)
        case "null":
            return value is None
    return isinstance(value, str)
