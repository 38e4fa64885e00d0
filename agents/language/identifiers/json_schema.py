"""JSON schemas: follow data along one, and resolve its references."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Schema = Mapping[str, Any]


@dataclass(frozen=True)
class Swap:
    """Swaps the values that a JSON schema marks, all through data; other values stay as they are.

    With the schema `{"properties": {"id": {"x-opaque": "order"}}}` and the mark "x-opaque" the data
    `{"id": "7f9c", "price": 3}` becomes `{"id": swap("order", "7f9c"), "price": 3}`.
    """

    root: Schema
    mark: str
    """The keyword that marks; its value is the first argument of `swap`."""
    swap: Callable[[str, object], object]

    def __call__(self, data: object, schema: Schema | None = None) -> Any:
        """Return data that follows a schema within the root, or the root itself, with the marked values swapped.

        Raises:
            KeyError: two names of an object are the same once swapped; with the kind and the second name.
        """
        schema = resolved(self.root if schema is None else schema, self.root)
        if data is None:
            return None
        if self.mark in schema:
            return self.swap(schema[self.mark], data)
        if branch := self._branch(data, schema):
            return self(data, branch)
        if isinstance(data, list):
            return self._entries(data, schema)
        return dict(self._members(data, schema)) if isinstance(data, Mapping) else data

    def _branch(self, data: object, schema: Schema) -> Schema | None:
        """Return the branch of a choice (`anyOf` …) that fits the data best; None if there is none."""
        branches = [
            resolved(choice, self.root) for key in ("anyOf", "oneOf", "allOf") for choice in schema.get(key, ())
        ]
        fitting = [branch for branch in branches if self._fits(data, branch)]
        return max(fitting, key=lambda branch: self._likeness(data, branch), default=None)

    def _entries(self, data: list[object], schema: Schema) -> list[object]:
        if first := schema.get("prefixItems"):
            further = [schema.get("items") or {}] * (len(data) - len(first))
            return [self(entry, inner) for entry, inner in zip(data, [*first, *further], strict=False)]
        if isinstance(items := schema.get("items"), Mapping):
            return [self(entry, items) for entry in data]
        if schema.get("type") == "object":
            # A source may describe one record and give several.
            return [self(entry, schema) for entry in data]
        return data

    def _members(self, data: Mapping[str, object], schema: Schema) -> Iterator[tuple[str, object]]:
        """Yield the members of an object; names that the schema does not give itself may be marked."""
        properties, kind = schema.get("properties", {}), name_rule(schema, self.root).get(self.mark)
        # Which pattern a name fits is not asked: patterns may come from outside, and no swapped name fits one.
        others = [*schema.get("patternProperties", {}).values(), schema.get("additionalProperties")]
        free = [rule for rule in others if isinstance(rule, Mapping)]
        swapped: set[str] = set()
        for name, value in data.items():
            new = name
            if kind and name not in properties:
                new = str(self.swap(kind, name))
                if new in swapped:
                    raise KeyError(kind, name)
                swapped.add(new)
            yield new, self(value, properties.get(name, free[0] if len(free) == 1 else {"anyOf": free}))

    def _fits(self, data: object, branch: Schema) -> bool:
        """Tell whether a branch of a choice is meant: by the shape of the data alone."""
        if self.mark in branch:
            return isinstance(data, str | int | float)
        if "const" in branch or "enum" in branch:
            return data in (branch["enum"] if "enum" in branch else [branch["const"]])
        kinds = {"object": Mapping, "array": list}
        kind = kinds.get(str(branch.get("type")))
        return kind is not None and isinstance(data, kind)

    def _likeness(self, data: object, branch: Schema) -> tuple[bool, int]:
        """Return how well data fits a branch: a word that it names itself best, an object by its properties."""
        if not isinstance(data, Mapping):
            return self.mark not in branch, 0
        inner = branch.get("properties", {})
        members = [(value, resolved(inner[name], self.root)) for name, value in data.items() if name in inner]
        return all("const" not in rule or rule["const"] == value for value, rule in members), len(members)


def name_rule(schema: Schema, root: Schema) -> Schema:
    """Return what a schema says of the names of an object."""
    rule = schema.get("propertyNames")
    return resolved(rule, root) if isinstance(rule, Mapping) else {}


def resolved(schema: Schema, root: Schema) -> Schema:
    """Return a schema with what its reference within the root stands for."""
    reference = schema.get("$ref", "")
    if not str(reference).startswith("#/"):
        return schema
    node: Any = root
    for part in str(reference)[2:].split("/"):
        node = node.get(part, {}) if isinstance(node, Mapping) else {}
    return {**node, **{name: value for name, value in schema.items() if name != "$ref"}}
