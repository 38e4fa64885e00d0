"""The keywords of JSON schemas, sound or not: schemas of tools come from others."""

import hashlib
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from agents.language.identifiers import Schema
from agents.state.speaker_state import Json

SAFE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
"""The form of names that every provider takes."""
LONGEST_NAME = 64
SIMPLE_PATTERN = re.compile(r"\^(?:(?!\(\?)[^\\]|\\[^\dbBkpP])*\$", re.DOTALL)
"""Patterns that servers with grammars take, too: anchored, and without a look around or back."""
FORMATS = ("date-time", "date", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uuid")
TYPES = ("string", "number", "integer", "boolean", "object", "array", "null")
BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
KEYWORDS: Mapping[str, Collection[str]] = {
    "object": ("properties", "required", "additionalProperties"),
    "array": ("items", "prefixItems", "minItems", "maxItems", "uniqueItems"),
    "string": ("minLength", "maxLength", "pattern", "format"),
    "number": (*BOUNDS, "format"),
    "integer": (*BOUNDS, "format"),
}
"""The keywords that apply to one type only."""
UNTOLD = (
    *("not", "if", "then", "else", "contains", "propertyNames", "patternProperties", "minProperties", "maxProperties"),
    *("dependentRequired", "dependentSchemas", "dependencies", "unevaluatedProperties", "unevaluatedItems"),
)
"""Rules that a model does not see: the tool itself refuses arguments that break them."""


def safe_names(names: Iterable[str], word: str) -> dict[str, str]:
    """Return a name that every provider takes for each name: always the same one, and none twice.

    A plain name stays. `word` stands before a digit, and in place of letters that have no plain form.
    """
    plain = {name: name if SAFE_NAME.fullmatch(name) else _plain_name(name, word) for name in names}
    counts = Counter(plain.values())
    return {name: safe if safe == name or counts[safe] == 1 else _marked(safe, name) for name, safe in plain.items()}


def _plain_name(name: str, word: str) -> str:
    letters = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    plain = re.sub(r"[^A-Za-z0-9_-]+", "_", letters).strip("_-")
    plain = plain if SAFE_NAME.match(plain) else f"{word}_{plain}".rstrip("_")
    is_whole = len(plain) <= LONGEST_NAME and name.isascii()
    return plain if is_whole else _marked(plain, name)


def _marked(plain: str, name: str) -> str:
    """Return a plain name with a mark of its original."""
    mark = hashlib.sha256(name.encode()).hexdigest()[:6]
    return f"{plain[: LONGEST_NAME - len(mark) - 1]}_{mark}"


def as_list(value: object) -> list[Any]:
    """Return a list; an empty one in place of anything else."""
    return value if isinstance(value, list) else []


def as_map(value: object) -> dict[str, Any]:
    """Return a copy of a map; an empty one in place of anything else."""
    return dict(value) if isinstance(value, Mapping) else {}


def choices(schema: Schema) -> list[Any]:
    """Return the branches of a choice."""
    return as_list(schema.get("anyOf")) or as_list(schema.get("oneOf"))


def values_of(schema: Schema) -> list[Any]:
    """Return the values that a schema lists."""
    return [schema["const"]] if "const" in schema else as_list(schema.get("enum"))


def kinds_of(schema: Schema) -> list[str]:
    """Return the types that a schema allows, as it says or as its keywords show; none if they are open."""
    declared = schema.get("type")
    named = [kind for kind in (declared if isinstance(declared, list) else [declared]) if kind in TYPES]
    shown = [kind for kind, words in KEYWORDS.items() if any(word in schema for word in words)]
    kinds = [*dict.fromkeys(named)] or (shown[:1] if declared is None else [])
    return [kind for kind in kinds if kind != "integer" or "number" not in kinds]


def both(one: Schema, other: Schema) -> Json:
    """Return one schema with the demands of two; where they differ in a detail, the first one counts."""
    merged = {**other, **one}
    if "properties" in one and "properties" in other:
        mine, theirs = as_map(one["properties"]), as_map(other["properties"])
        shared = {name: {"allOf": [mine[name], theirs[name]]} for name in mine.keys() & theirs.keys()}
        merged["properties"] = {name: shared.get(name, inner) for name, inner in {**theirs, **mine}.items()}
    if "required" in one and "required" in other:
        merged["required"] = [*dict.fromkeys((*as_list(other["required"]), *as_list(one["required"])))]
    return merged


def described(schema: Schema, *words: str) -> Json:
    """Return the description of a schema with words behind it; empty if there are neither."""
    own = schema.get("description")
    text = " ".join(part for part in (own if isinstance(own, str) else "", *words) if part)
    return {"description": text} if text else {}


def group(branch: Schema, names: Mapping[str, str]) -> str:
    """Return in words the properties that belong together in a branch, by their `names`, with values that mark it."""
    inner = as_map(branch.get("properties"))
    needed = [name for name in as_list(branch.get("required")) if isinstance(name, str)] or [*inner]
    marks = {name: values[0] for name in needed if len(values := values_of(as_map(inner.get(name)))) == 1}
    properties = (f"{names.get(name, name)}{f'={marks[name]}' if name in marks else ''}" for name in needed)
    return f"{{{', '.join(properties)}}}"


def nullable(schema: Json) -> Json:
    """Return a schema with OpenAPI's `nullable` in the way of JSON Schema."""
    if schema.pop("nullable", None) is not True:
        return schema
    if branches := choices(schema):
        return {**schema, "anyOf" if "anyOf" in schema else "oneOf": [*branches, {"type": "null"}]}
    types, values = ([*kinds_of(schema), "null"], values_of(schema))
    listed = {"enum": [*dict.fromkeys((*values, None))]} if values else {}
    return {**schema, **({"type": types} if len(types) > 1 else {}), **listed}


def writable(value: Any) -> Any:
    """Return a value as JSON in UTF-8 takes it: without NaN and infinity, and without halves of characters."""
    if isinstance(value, Mapping):
        return {writable(key): writable(inner) for key, inner in value.items() if _is_writable(inner)}
    if isinstance(value, list):
        return [writable(inner) for inner in value if _is_writable(inner)]
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def _is_writable(value: object) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


def is_sound(keyword: str, value: object) -> bool:
    """Tell whether the value of a keyword is of the type that the keyword wants."""
    if keyword in BOUNDS or keyword in ("minLength", "maxLength", "minItems", "maxItems"):
        return isinstance(value, int | float) and not isinstance(value, bool)
    if keyword in ("description", "title", "pattern", "format"):
        return isinstance(value, str)
    return True
