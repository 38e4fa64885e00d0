"""Calls of tools that a model writes into its text, in any of the forms of `forms.toml`."""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from agents.models import ToolSchema

TextCall = tuple[str, Mapping[str, object]]
"""A tool's name, and its arguments."""
MOST_BRACKETS, DEEPEST = 500, 4
"""Brackets of a text behind which JSON is looked for, and levels of JSON on which there may be a call."""
NAME = re.compile(r"[\w-]+")
_DECODER = json.JSONDecoder()


@cache
def forms() -> Mapping[str, Any]:
    """Return the table of what models write that is no word to the user."""
    return tomllib.loads(Path(__file__).with_name("forms.toml").read_text("utf-8"))


class Offer:
    """The tools that a model may call, and what it was given to read: a call that stands there is only quoted."""

    def __init__(self, tools: Sequence[ToolSchema], read: str) -> None:
        self.schemas: Mapping[str, Mapping[str, Any]] = {
            tool["function"]["name"]: tool["function"].get("parameters", {}) for tool in tools
        }
        self._texts = read

    @cached_property
    def _read(self) -> str:
        return _squeezed(self._texts)

    def calls_in(self, text: str) -> list[TextCall]:
        """Return the calls that a text is; none if one of them is not sound, or was only read."""
        calls, position = [], 0
        for start, end, value in _values(text):
            shaped = list(self.shaped(value))
            names = [name for name in NAME.findall(text[position:start]) if name in self.schemas]
            if not shaped and names and isinstance(value, dict):
                # Mistral, Kimi and others write the name before the arguments.
                shaped = [(names[-1], value)]
            if _squeezed(text[start:end]) in self._read and value:
                return []
            calls += shaped
            position = end
        return calls if all(self._is_sound(*call) for call in calls) else []

    def shaped(self, value: object, depth: int = DEEPEST) -> Iterator[TextCall]:
        """Yield what has the shape of a call in a value that was JSON."""
        if isinstance(value, list) and depth:
            for each in value:
                yield from self.shaped(each, depth - 1)
        if not isinstance(value, dict) or not depth:
            return
        name = next((value[key] for key in forms()["named"] if isinstance(value.get(key), str)), "")
        name = name.removeprefix("functions.")
        given = next((value[key] for key in forms()["given"] if key in value), None)
        if name and (given is not None or name in self.schemas):
            yield name, _arguments(given)
            return
        for key in forms()["wrapped"]:
            yield from self.shaped(value.get(key), depth - 1)

    def looks_like_call(self, text: str) -> bool:
        """Tell whether a text that begins as a call is meant as one, sound or not."""
        values = [value for _, _, value in _values(text)]
        if not values:
            return any(f'"{word}"' in text for word in (*forms()["given"], *self.schemas))
        return any(any(self.shaped(value)) for value in values)

    def was_read(self, text: str) -> bool:
        """Tell whether the model was given this text to read."""
        return _squeezed(text) in self._read

    def _is_sound(self, name: str, args: Mapping[str, object]) -> bool:
        schema = self.schemas.get(name)
        if schema is None:
            return False
        properties, required = schema.get("properties", {}), schema.get("required", [])
        return set(required) <= set(args) and (set(args) <= set(properties) or bool(schema.get("additionalProperties")))


def value_at(text: str, start: int = 0) -> tuple[object, int] | None:
    """Return the JSON value that begins at a place of a text, and where it ends; None if it is not whole."""
    try:
        return _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None


def _values(text: str) -> Iterator[tuple[int, int, object]]:
    """Yield the objects and lists of JSON that stand in a text, with their places."""
    end = 0
    for bracket in islice(re.finditer(r"[\[{]", text), MOST_BRACKETS):
        start = bracket.start()
        if start >= end and (decoded := value_at(text, start)):
            value, end = decoded
            yield start, end, value


def _arguments(given: object) -> Mapping[str, object]:
    if isinstance(given, str):
        decoded = value_at(given.strip())
        given = decoded[0] if decoded else {"": given}
    return given if isinstance(given, dict) else {} if given is None else {"": given}


def _squeezed(text: str) -> str:
    return re.sub(r"[\s\"'\\‹<]", "", text).casefold()
