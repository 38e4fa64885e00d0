"""Small numbers for opaque identifiers: the model reads and writes `2` where a tool means `7f9c…`.

The type of a field or parameter with such an identifier says so, `Annotated[str, Opaque("order")]`, or its
JSON schema, `"x-opaque": "order"`. Numbers count up within a thread, over all kinds, and are never given twice.
In arguments the model may also write an identifier that the user wrote. A short one that people read ("D1003") stays
as it is.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from string import punctuation
from typing import Any, cast

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

Schema = Mapping[str, Any]
FEWEST_DIGITS = 4  # A number of fewer digits is never an identifier: people count with it ("the third one").
# Chinese and Japanese have no spaces, so an identifier may stand between their letters.
_BETWEEN = re.compile(r"[\s,;!?\"'`()\[\]{}<>|«»„“”‘’…\u3000-\u30ff\u3400-\u9fff\uff00-\uffef]+")
_EDGE = f"{punctuation}№—–"
MARK = "x-opaque"
"""The keyword of a JSON schema that marks an identifier; its value is the identifier's kind."""
MOST_IDENTIFIERS = 500  # Identifiers of a kind that a thread remembers; the oldest become stale.
NAMING = ("label", "name", "title", "text", "subject")
"""The fields with an object's name; the first existing one counts."""
LONGEST_WORD, WORD = 12, "="
"""Characters of an identifier that may stay as it is, and the prefix of its key among the numbers."""
LONGEST_LABEL = 100  # Characters of such a name that are kept.
NUMBER = {"type": "integer"}
ARGUMENT = {"anyOf": [NUMBER, {"type": "string"}]}
"""The model's argument for an identifier: its number, or the identifier that the user wrote."""
_NUMBERED = re.compile(r"(?<![\w#№])[#№](\d{1,4})(?![\w-])")
KEPT = ("description", "title", "default")
NumberedIds = dict[str, dict[str, str]]


@dataclass(frozen=True)
class Swap:
    """Swaps the values that a JSON schema marks as identifiers, all through data; other values stay as they are.

    With the schema `{"properties": {"id": {"x-opaque": "order"}}}` the data `{"id": "7f9c", "price": 3}` becomes
    `{"id": swap("order", "7f9c"), "price": 3}`.
    """

    root: Schema
    swap: Callable[[str, object], object]
    """Takes the kind of an identifier, and the value."""

    def __call__(self, data: object, schema: Schema | None = None) -> Any:
        """Return data that follows a schema within the root, or the root itself, with the marked values swapped.

        Raises:
            KeyError: two names of an object are the same once swapped; with the kind and the second name.
        """
        schema = resolved(self.root if schema is None else schema, self.root)
        if data is None:
            return None
        if MARK in schema:
            return self.swap(schema[MARK], data)
        if branch := self._branch(data, schema):
            return self(data, branch)
        if isinstance(data, list):
            return self._entries(data, schema)
        return dict(self._members(data, schema)) if isinstance(data, Mapping) else data

    def _branch(self, data: object, schema: Schema) -> Schema | None:
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
        """Yield the members of an object; names that are not in the schema itself may be marked."""
        properties, kind = schema.get("properties", {}), name_rule(schema, self.root).get(MARK)
        # The pattern of a name is not looked up: patterns may come from outside, and no swapped name fits one.
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
        """Tell whether data has the shape of a branch of a choice."""
        if MARK in branch:
            return isinstance(data, str | int | float)
        if "const" in branch or "enum" in branch:
            return data in (branch["enum"] if "enum" in branch else [branch["const"]])
        kinds = {"object": Mapping, "array": list}
        kind = kinds.get(str(branch.get("type")))
        return kind is not None and isinstance(data, kind)

    def _likeness(self, data: object, branch: Schema) -> tuple[bool, int]:
        if not isinstance(data, Mapping):
            return MARK not in branch, 0
        inner = branch.get("properties", {})
        members = [(value, resolved(inner[name], self.root)) for name, value in data.items() if name in inner]
        return all("const" not in rule or rule["const"] == value for value, rule in members), len(members)


def name_rule(schema: Schema, root: Schema) -> Schema:
    """Return the schema's rule for the names of an object."""
    rule = schema.get("propertyNames")
    return resolved(rule, root) if isinstance(rule, Mapping) else {}


def resolved(schema: object, root: Schema) -> Schema:
    """Return a schema with the schema that its reference within the root names; `true` and `false` set no rules."""
    if not isinstance(schema, Mapping):
        return {}
    reference = str(schema.get("$ref", ""))
    if not reference.startswith("#/"):
        return schema
    named = target(reference, root)
    own = {name: value for name, value in schema.items() if name != "$ref"}
    return {**named, **own} if isinstance(named, Mapping) else own


def target(reference: str, root: Schema) -> object:
    """Return the schema that a reference within a root names; None if there is none."""
    node: Any = root
    if not reference.startswith("#"):
        return None
    for step in filter(None, reference[1:].split("/")):
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(node, list):
            node = node[int(name)] if name.isdecimal() and int(name) < len(node) else None
        else:
            node = node.get(name) if isinstance(node, Mapping) else None
    return node


def spelled(texts: Iterable[str]) -> frozenset[str]:
    """Return the words of texts that may be identifiers, each with and without the signs around it.

    Parts of words, plain words and small numbers are left out.
    """
    words = {word for text in texts for word in _BETWEEN.split(text)}
    candidates = {cut for word in words for cut in (word, word.strip(_EDGE), word.lstrip(_EDGE), word.rstrip(_EDGE))}
    return frozenset(word for word in candidates if _may_be_id(word))


def _may_be_id(word: str) -> bool:
    bare = word.strip(_EDGE)
    if bare.isdecimal():
        return len(bare) >= FEWEST_DIGITS
    return bool(bare) and not (bare.isalpha() and (bare.islower() or bare.istitle()))


@dataclass(frozen=True)
class Opaque:
    """Marks a string as an identifier of a kind; the model only sees its number."""

    kind: str

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return handler(source)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {**handler(schema), MARK: self.kind}


class AliasError(LookupError):
    """An argument names no identifier of the thread; the model may use the `numbers` of its kind."""

    def __init__(self, kind: str, argument: object, numbers: list[str]) -> None:
        super().__init__(f"{kind} {argument!r}")
        self.kind, self.argument, self.numbers = kind, argument, numbers


class Aliases:
    """The numbers of one thread. `by_kind` also holds the numbers that were added in this turn."""

    def __init__(
        self, by_kind: Mapping[str, Mapping[str, str]] | None = None, labels: Mapping[str, str] | None = None
    ) -> None:
        self.by_kind: NumberedIds = {kind: dict(numbers) for kind, numbers in (by_kind or {}).items()}
        self.labels: dict[str, str] = dict(labels or {})
        """The names of the identifiers; the first name stays."""

    def hide(self, data: object, schema: Schema, read_texts: Callable[[], Iterable[str]] = tuple) -> object:
        """Return data with a number in place of every identifier that the schema marks.

        A short identifier stays as it is once it stands in a text that people have read or written (`read_texts`).
        """
        texts = cache(lambda: [*read_texts()])
        hidden: object = Swap(schema, lambda kind, identifier: self._number(kind, identifier, texts))(data)
        self._read_labels(data, {identifier for numbers in self.by_kind.values() for identifier in numbers.values()})
        return hidden

    def restore(self, data: object, schema: Schema, user_texts: Sequence[str] = ()) -> Any:
        """Return data with the identifier in place of every number that the schema marks.

        An identifier itself is accepted only if it stands in one of the `user_texts`.

        Raises:
            AliasError: another identifier; or a number that was never given in this thread, is too old, or names two
                members of an object.
        """
        spoken = cache(partial(spelled, user_texts))
        try:
            return Swap(schema, lambda kind, argument: self._identifier(kind, argument, spoken))(data)
        except KeyError as twice:
            kind, name = twice.args
            raise AliasError(kind, name, _named(self.by_kind.get(kind, {}))) from None

    def _read_labels(self, data: object, identifiers: set[str]) -> None:
        """Note the names of the objects that hold an identifier; drop the names of stale identifiers."""
        if not identifiers:
            return
        if isinstance(data, Mapping):
            label = next((data[name] for name in NAMING if isinstance(data.get(name), str)), None)
            for value in data.values():
                if label and isinstance(value, str) and value in identifiers and value != label:
                    self.labels.setdefault(value, label[:LONGEST_LABEL])
                self._read_labels(value, identifiers)
        for entry in data if isinstance(data, list) else ():
            self._read_labels(entry, identifiers)
        self.labels = {identifier: label for identifier, label in self.labels.items() if identifier in identifiers}

    def _number(self, kind: str, identifier: object, texts: Callable[[], Sequence[str]]) -> object:
        if not isinstance(identifier, str):
            return identifier
        numbers = self.by_kind.setdefault(kind, {})
        is_word = WORD + identifier in numbers
        if not is_word and len(identifier) <= LONGEST_WORD and _may_be_id(identifier):
            is_word = any(identifier in text and _alone([identifier]).search(text) for text in texts())
        if is_word:
            numbers[WORD + identifier] = identifier
            return identifier
        number = next((number for number, known_id in numbers.items() if known_id == identifier), None)
        if number is None:
            # All kinds share one row of numbers, so that a number of the wrong kind is noticed.
            number = str(1 + self._highest())
            numbers[number] = identifier
            while len(numbers) > MOST_IDENTIFIERS:
                del numbers[next(iter(numbers))]
        return int(number)

    def _identifier(self, kind: str, argument: object, spoken: Callable[[], frozenset[str]]) -> str:
        numbers = self.by_kind.get(kind, {})
        text = str(int(argument) if isinstance(argument, float) and argument.is_integer() else argument).strip()
        bare = text.lstrip("#№")
        keys = (bare, WORD + text, WORD + bare, f"{WORD}#{bare}")
        if (key := next((key for key in keys if key in numbers), None)) is not None:
            return numbers[key]
        if isinstance(argument, str | int | float) and not self._was_given(text) and text in spoken():
            return text
        raise AliasError(kind, argument, _named(numbers))

    def _was_given(self, text: str) -> bool:
        """Tell whether a text is a number that once stood for an identifier."""
        number, highest = text.lstrip("#№"), self._highest()
        return number.isdecimal() and len(number) <= len(str(highest)) and int(number) <= highest

    def _highest(self) -> int:
        newest = (next(filter(str.isdecimal, reversed(numbers)), "0") for numbers in self.by_kind.values())
        return max(map(int, newest), default=0)


def named(text: str, numbered: NumberedIds, labels: Mapping[str, str], lines: Iterable[str]) -> str:
    """Return a model's words with an object's name in place of "#3", unless a line on the screen has the 3."""
    listed = {line.partition(".")[0].strip() for line in lines}
    pairs = [(number, labels.get(meant)) for ids in numbered.values() for number, meant in ids.items()]
    names = {number: name for number, name in pairs if name and number not in listed}
    return _NUMBERED.sub(lambda match: names.get(match[1], match[0]), text) if names else text


def _named(numbers: Mapping[str, str]) -> list[str]:
    return [number.removeprefix(WORD) for number in numbers]


def _alone(identifiers: Iterable[str]) -> re.Pattern[str]:
    """Return the pattern of identifiers outside of words, dates and numbers."""
    either = "|".join(re.escape(identifier) for identifier in sorted(identifiers, key=len, reverse=True))
    return re.compile(rf"(?<![\w-])(?:{either})(?![\w-]|[.,:/]\d)")


def masked(text: str, numbered: Mapping[str, Mapping[str, str]] | None) -> str:
    """Return a text with its number in place of every long identifier that has one ("Ticket 7f9c… is late": "#3 …")."""
    pairs = [(identifier, number) for ids in (numbered or {}).values() for number, identifier in ids.items()]
    long = ((identifier, number) for identifier, number in pairs if len(identifier) > LONGEST_WORD)
    numbers = {identifier: number for identifier, number in long if identifier in text and _may_be_id(identifier)}
    return _alone(numbers).sub(lambda match: f"#{numbers[match[0]]}", text) if numbers else text


def shown(schema: Schema, *, is_argument: bool = False) -> dict[str, Any]:
    """Return a schema for the model, with a number for each identifier.

    `is_argument`: the schema is of arguments, where the model may also repeat an identifier that the user wrote.
    """
    return cast(dict[str, Any], _masked(schema, schema, ARGUMENT if is_argument else NUMBER))


def _masked(node: object, root: Schema, put: Schema) -> object:
    if not isinstance(node, Mapping):
        return [_masked(value, root, put) for value in node] if isinstance(node, list) else node
    if MARK in node:
        return {**{name: value for name, value in node.items() if name in KEPT}, **put}
    masked = {name: _masked(value, root, put) for name, value in node.items()}
    if isinstance(branches := masked.get("anyOf"), list):
        # A choice within a choice means the same as one choice of all, in more characters.
        masked["anyOf"] = [
            inner for branch in branches for inner in (branch["anyOf"] if branch == ARGUMENT else [branch])
        ]
    if MARK in name_rule(node, root):
        # A number that stands for a name is a text, and no pattern of identifiers fits it.
        masked["propertyNames"] = put if put == ARGUMENT else {"pattern": r"^\d+$"}
        if isinstance(patterns := masked.pop("patternProperties", None), Mapping):
            masked["additionalProperties"] = {"anyOf": [*patterns.values()]}
    return masked
