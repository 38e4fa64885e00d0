"""Any legal schema of parameters becomes one that every provider takes, and every argument comes back as it was."""

import json
from collections.abc import Mapping
from typing import Any

import jsonschema
from hypothesis import given
from hypothesis import strategies as st

from agents.toolkit.schema import Translation
from tests.support.made_inputs import tried
from tests.support.tool_dialects import common
from tests.support.written_arguments import written

KEYS = ("id", "type", "self", "$top", "user name", "город", "9lives", "x" * 80, "a.b", "é")
WORDS = st.text("abc 1", max_size=4)
SCALARS: st.SearchStrategy[Any] = st.one_of(
    st.builds(dict, type=st.sampled_from(["string", "integer", "number", "boolean"])),
    st.builds(dict, type=st.sampled_from(["string", "number"]), description=st.just("What it is.")),
    st.builds(
        lambda values: {"enum": values},
        st.lists(st.sampled_from(["a", "b", "", "2", 2, None, True]), min_size=1, unique=True),
    ),
    st.builds(lambda value: {"const": value}, st.sampled_from(["a", "", 7, None])),
    st.builds(
        lambda kinds: {"type": kinds}, st.lists(st.sampled_from(["string", "integer", "null"]), min_size=1, unique=True)
    ),
    st.sampled_from([True, {}, {"description": "anything"}, {"$ref": "#/$defs/Place"}, {"$ref": "#/$defs/Tree"}]),
    st.sampled_from([{"type": "string", "format": "uri"}, {"type": "string", "pattern": "^(?!x)"}, {"type": "array"}]),
)
DEFS: dict[str, Any] = {
    "Place": {"type": "object", "properties": {"the city": {"type": "string"}}, "required": ["the city"]},
    "Tree": {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}}},
}


def objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return objects of these parts: with odd keys, with names that are required and not described, free, closed."""

    @st.composite
    def drawn(draw: st.DrawFn) -> dict[str, Any]:
        properties = draw(st.dictionaries(st.sampled_from(KEYS), inner, max_size=3))
        required = draw(st.lists(st.sampled_from([*properties, "ghost"]), unique=True, max_size=2))
        rest = draw(st.sampled_from([None, True] if "ghost" in required else [None, True, False]))
        schema = {"type": "object", "properties": properties, "required": required}
        return schema if rest is None else {**schema, "additionalProperties": rest}

    return drawn()


def combined(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return schemas that have these ones within."""
    several = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        objects(inner),
        st.builds(lambda items: {"type": "array", "items": items}, inner),
        st.builds(lambda first: {"type": "array", "prefixItems": first, "items": False}, several),
        st.builds(lambda branches: {"anyOf": branches}, several),
        st.builds(lambda rest: {"type": "object", "additionalProperties": rest}, inner),
        st.builds(lambda one: {"allOf": [one, {"description": "both"}]}, objects(inner)),
    )


REMARKS = st.fixed_dictionaries(
    {},
    optional={
        "discriminator": st.just({"propertyName": "kind"}),
        "nullable": st.just(True),
        "examples": st.sampled_from([["a"], [1, {"b": None}], []]),
        "default": st.sampled_from([float("nan"), "\ud800", None]),
        "x-order": st.just(1),
        "deprecated": st.just(False),
        "readOnly": st.just(True),
        "title": st.just("A title"),
        "minimum": st.just(float("-inf")),
        "description": st.just("half of a character: \ud83d"),
    },
)
"""Keys that may stand beside any schema, and that only some providers take."""


def remarked(schemas: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return schemas with remarks."""
    return st.builds(
        lambda schema, remarks: {**remarks, **schema} if isinstance(schema, dict) else schema, schemas, REMARKS
    )


PARTS = st.recursive(remarked(SCALARS), lambda inner: remarked(combined(inner)), max_leaves=6)
ROOTS = st.one_of(
    objects(PARTS),
    st.builds(lambda one, other: {"type": "object", "anyOf": [one, other]}, objects(PARTS), objects(PARTS)),
).map(lambda schema: {**schema, "$defs": DEFS})


def value(draw: st.DrawFn, schema: Any, left: int = 5) -> Any:  # noqa: C901  # a line for each keyword
    """Draw a value that follows a schema."""
    if not isinstance(schema, Mapping):
        return draw(st.sampled_from([1, True, "a", [1], {"k": "v"}]))
    if "$ref" in schema:
        return value(draw, DEFS[schema["$ref"].rpartition("/")[2]], left)
    if "allOf" in schema:
        return value(draw, schema["allOf"][0], left)
    if "anyOf" in schema:
        return value(draw, draw(st.sampled_from(schema["anyOf"])), left)
    if "const" in schema or "enum" in schema:
        return draw(st.sampled_from(schema.get("enum", [schema.get("const")])))
    kind = schema.get("type")
    match draw(st.sampled_from(kind)) if isinstance(kind, list) else kind:
        case "object":
            properties, required = schema.get("properties", {}), schema.get("required", [])
            names = [name for name in properties if name in required or (left > 0 and draw(st.booleans()))]
            given_ = {name: value(draw, properties[name], left - 1) for name in names}
            given_ |= {name: draw(WORDS) for name in required if name not in properties}
            rest = schema.get("additionalProperties")
            free = {"more": value(draw, rest, left - 1)} if isinstance(rest, Mapping) and left > 0 else {}
            return {**given_, **free}
        case "array":
            first = [value(draw, inner, left - 1) for inner in schema.get("prefixItems", ())]
            count = draw(st.integers(0, 2)) if left > 0 and not first else 0
            return [*first, *(value(draw, schema.get("items", {}), left - 1) for _ in range(count))]
        case "string":
            return draw(WORDS)
        case "integer":
            return draw(st.integers(-3, 3))
        case "number":
            return draw(st.sampled_from([0.5, 2, -1.25]))
        case "boolean":
            return draw(st.booleans())
        case "null":
            return None
    return draw(st.sampled_from([1, False, "a", "1", [1, "x"], {"k": [None]}]))


@tried(30)
@given(st.data())
def test_any_schema_is_taken_and_any_argument_comes_back(data: st.DataObject) -> None:
    """A model's schema is in the part that all providers take; its arguments come back in the tool's form."""
    schema = data.draw(ROOTS)
    args = data.draw(st.composite(value)(schema))
    jsonschema.validate(args, schema)
    translation = Translation(schema)
    assert common(translation.schema) == []
    json.dumps(translation.schema, allow_nan=False, ensure_ascii=False).encode()
    restored = translation.restored(written(args, translation.schema))
    assert restored == args
    jsonschema.validate(restored, schema)
    assert translation.strange(restored) == []
    assert translation.restored(args) == args
