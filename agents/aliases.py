"""Small numbers for opaque identifiers: the model reads and writes `2` where a tool means `7f9c…`.

A field or parameter that holds such an identifier says so in its type, `Annotated[str, Opaque("order")]`, or in its
JSON schema, `"x-opaque": "order"`. Numbers count up per kind within a thread and are never given twice.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

MARK = "x-opaque"
MOST = 500
"""Identifiers of a kind that a thread remembers; the oldest become stale."""
Known = dict[str, dict[str, str]]
"""By kind, the identifiers by their number."""


@dataclass(frozen=True)
class Opaque:
    """Marks a string as an identifier of a kind, which the model only sees as a number."""

    kind: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return handler(source)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {**handler(schema), MARK: self.kind}


class AliasError(LookupError):
    """Tells the model which number stands for nothing; `kind` and `known` say what it could mean."""

    def __init__(self, kind: str, given: object, known: list[str]) -> None:
        super().__init__(f"{kind} {given!r}")
        self.kind, self.given, self.known = kind, given, known


class Aliases:
    """The numbers of one thread; what was added since the turn began is in `known`, too."""

    def __init__(self, known: Mapping[str, Mapping[str, str]] | None = None) -> None:
        self.known: Known = {kind: dict(numbers) for kind, numbers in (known or {}).items()}

    def hide(self, data: Any, schema: Mapping[str, Any]) -> Any:
        """Return data with a number in place of every identifier that the schema marks."""
        return _walk(data, schema, schema, self._number)

    def restore(self, data: Any, schema: Mapping[str, Any]) -> Any:
        """Return data with the identifier in place of every number where the schema marks one.

        Raises:
            AliasError: a number was never given in this thread, or is too old.
        """
        return _walk(data, schema, schema, self._identifier)

    def _number(self, kind: str, identifier: Any) -> Any:
        if not isinstance(identifier, str):
            return identifier
        numbers = self.known.setdefault(kind, {})
        found = next((number for number, known in numbers.items() if known == identifier), None)
        if found is None:
            found = str(int(next(reversed(numbers), "0")) + 1)
            numbers[found] = identifier
            while len(numbers) > MOST:
                del numbers[next(iter(numbers))]
        return int(found)

    def _identifier(self, kind: str, number: Any) -> str:
        numbers = self.known.get(kind, {})
        plain = int(number) if isinstance(number, float) and number.is_integer() else number
        found = numbers.get(str(plain).strip().lstrip("#№"))
        if found is None:
            raise AliasError(kind, number, list(numbers))
        return found


def shown(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema as the model shall see it: a number where an identifier is meant."""
    return cast(dict[str, Any], _masked(schema))


def _masked(node: Any) -> Any:
    if isinstance(node, Mapping):
        if MARK in node:
            kept = {name: value for name, value in node.items() if name in ("description", "title", "default")}
            return {**kept, "type": "integer"}
        return {name: _masked(value) for name, value in node.items()}
    return [_masked(value) for value in node] if isinstance(node, list) else node


def _walk(data: Any, schema: Mapping[str, Any], root: Mapping[str, Any], swap: Callable[[str, Any], Any]) -> Any:
    """Follow data along its schema and swap what is marked; what the schema does not know stays as it is."""
    schema = resolved(schema, root)
    if data is None:
        return None
    if kind := schema.get(MARK):
        return swap(kind, data)
    branches = (*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ()))
    fitting = [one for one in (resolved(one, root) for one in branches) if _fits(data, one)]
    if fitting:
        return _walk(data, max(fitting, key=lambda one: _likeness(data, one, root)), root, swap)
    if isinstance(data, list) and (first := schema.get("prefixItems")):
        rest = [schema.get("items") or {}] * (len(data) - len(first))
        return [_walk(one, part, root, swap) for one, part in zip(data, [*first, *rest], strict=False)]
    if isinstance(data, list) and isinstance(items := schema.get("items"), Mapping):
        return [_walk(one, items, root, swap) for one in data]
    if isinstance(data, Mapping):
        inner, others = schema.get("properties", {}), schema.get("additionalProperties")
        others = others if isinstance(others, Mapping) else {}
        return {name: _walk(value, inner.get(name, others), root, swap) for name, value in data.items()}
    return data


def _fits(data: Any, branch: Mapping[str, Any]) -> bool:
    """Tell whether a branch of a choice is meant: by the shape of the data alone."""
    if MARK in branch:
        return isinstance(data, str | int | float)
    if "const" in branch or "enum" in branch:
        return data in (branch["enum"] if "enum" in branch else [branch["const"]])
    kinds = {"object": Mapping, "array": list}
    wanted = kinds.get(str(branch.get("type")))
    return wanted is not None and isinstance(data, wanted)


def _likeness(data: Any, branch: Mapping[str, Any], root: Mapping[str, Any]) -> tuple[bool, int]:
    """Return how well data fits a branch: a word that it names itself best, an object by its properties."""
    if not isinstance(data, Mapping):
        return MARK not in branch, 0
    inner = branch.get("properties", {})
    known = [(value, resolved(inner[name], root)) for name, value in data.items() if name in inner]
    return all("const" not in one or one["const"] == value for value, one in known), len(known)


def resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a schema with what its reference within the root stands for."""
    reference = schema.get("$ref", "")
    if not str(reference).startswith("#/"):
        return schema
    node: Any = root
    for part in str(reference)[2:].split("/"):
        node = node.get(part, {}) if isinstance(node, Mapping) else {}
    return {**node, **{name: value for name, value in schema.items() if name != "$ref"}}
