"""JSON schemas, and data followed along them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Schema = Mapping[str, Any]


@dataclass(frozen=True)
class Swap:
    """Swaps, all through data, what its schema marks; what the schema does not know stays as it is."""

    root: Schema
    mark: str
    """The keyword that marks; its value is the first argument of `swap`."""
    swap: Callable[[str, Any], Any]

    def __call__(self, data: Any, schema: Schema | None = None) -> Any:
        """Return data that follows a schema within the root, or the root itself, with all that is marked swapped.

        Raises:
            KeyError: two names of an object are the same once swapped; with the kind and the second name.
        """
        schema = resolved(self.root if schema is None else schema, self.root)
        if data is None:
            return None
        if self.mark in schema:
            return self.swap(schema[self.mark], data)
        branches = [one for key in ("anyOf", "oneOf", "allOf") for one in schema.get(key, ())]
        fitting = [one for one in (resolved(one, self.root) for one in branches) if self._fits(data, one)]
        if fitting:
            return self(data, max(fitting, key=lambda one: self._likeness(data, one)))
        if isinstance(data, list) and (first := schema.get("prefixItems")):
            rest = [schema.get("items") or {}] * (len(data) - len(first))
            return [self(part, one) for part, one in zip(data, [*first, *rest], strict=False)]
        if isinstance(data, list) and isinstance(items := schema.get("items"), Mapping):
            return [self(one, items) for one in data]
        if isinstance(data, list) and schema.get("type") == "object":
            # Who says what a record looks like may give several of them.
            return [self(one, schema) for one in data]
        return dict(self._members(data, schema)) if isinstance(data, Mapping) else data

    def _members(self, data: Mapping[str, Any], schema: Schema) -> Iterator[tuple[str, Any]]:
        """Yield the members of an object; names that the schema does not give itself may be marked."""
        given, kind = schema.get("properties", {}), name_rule(schema, self.root).get(self.mark)
        # Which pattern a name fits is not asked: patterns may come from outside, and no swapped name fits one.
        others = [*schema.get("patternProperties", {}).values(), schema.get("additionalProperties")]
        free = [one for one in others if isinstance(one, Mapping)]
        swapped: set[str] = set()
        for name, value in data.items():
            new = name
            if kind and name not in given:
                new = str(self.swap(kind, name))
                if new in swapped:
                    raise KeyError(kind, name)
                swapped.add(new)
            yield new, self(value, given.get(name, free[0] if len(free) == 1 else {"anyOf": free}))

    def _fits(self, data: Any, branch: Schema) -> bool:
        """Tell whether a branch of a choice is meant: by the shape of the data alone."""
        if self.mark in branch:
            return isinstance(data, str | int | float)
        if "const" in branch or "enum" in branch:
            return data in (branch["enum"] if "enum" in branch else [branch["const"]])
        kinds = {"object": Mapping, "array": list}
        wanted = kinds.get(str(branch.get("type")))
        return wanted is not None and isinstance(data, wanted)

    def _likeness(self, data: Any, branch: Schema) -> tuple[bool, int]:
        """Return how well data fits a branch: a word that it names itself best, an object by its properties."""
        if not isinstance(data, Mapping):
            return self.mark not in branch, 0
        inner = branch.get("properties", {})
        known = [(value, resolved(inner[name], self.root)) for name, value in data.items() if name in inner]
        return all("const" not in one or one["const"] == value for value, one in known), len(known)


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
