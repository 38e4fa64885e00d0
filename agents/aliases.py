"""Small numbers for opaque identifiers: the model reads and writes `2` where a tool means `7f9c…`.

A field or parameter that holds such an identifier says so in its type, `Annotated[str, Opaque("order")]`, or in its
JSON schema, `"x-opaque": "order"`. Numbers count up per kind within a thread and are never given twice.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from agents.schemas import Swap, name_rule

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
        return Swap(schema, MARK, self._number)(data)

    def restore(self, data: Any, schema: Mapping[str, Any]) -> Any:
        """Return data with the identifier in place of every number where the schema marks one.

        Raises:
            AliasError: a number was never given in this thread, or is too old, or names two members of an object.
        """
        try:
            return Swap(schema, MARK, self._identifier)(data)
        except KeyError as twice:
            kind, name = twice.args
            raise AliasError(kind, name, list(self.known.get(kind, {}))) from None

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
    return cast(dict[str, Any], _masked(schema, schema))


def _masked(node: Any, root: Mapping[str, Any]) -> Any:
    if not isinstance(node, Mapping):
        return [_masked(value, root) for value in node] if isinstance(node, list) else node
    if MARK in node:
        kept = {name: value for name, value in node.items() if name in ("description", "title", "default")}
        return {**kept, "type": "integer"}
    masked = {name: _masked(value, root) for name, value in node.items()}
    if MARK in name_rule(node, root):
        # As a name a number is a text, and fits no pattern of identifiers.
        masked["propertyNames"] = {"pattern": r"^\d+$"}
        if patterns := masked.pop("patternProperties", None):
            masked["additionalProperties"] = {"anyOf": [*patterns.values()]}
    return masked
