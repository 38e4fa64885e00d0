"""Calls of tools that a model writes into its text, in any of the forms of `forms.toml`."""

import ast
import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, cached_property, lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

import regex
import yaml

from agents.models import ToolSchema

TextCall = tuple[str, Mapping[str, object]]
"""A tool's name, and its arguments."""
MOST_CALLED, MOST_BRACKETS, DEEPEST = 20_000, 500, 4
"""Limits of a text that may be a call: its characters, its brackets, and the levels of JSON behind a bracket."""
MOST_ENDS, FEW_WORDS = 50, 8
"""Closing brackets to try as the end of a value that is not JSON; words of a text that is only the name of a tool."""
OFFERS = 64
"""Sets of tool names whose forms are remembered; clients bring tools of their own."""
NAME = re.compile(r"[\w-]+")
DRESSED_NAME = re.compile(r"\s*(?:\w+[.:])?([\w-]+)\s*(?:<\|.*)?", re.DOTALL)
"""A tool's name behind a namespace, or before marks of a chat template."""
_YAML, _BARE_KEY = re.compile(r"\{\s*['\w][^&]*"), re.compile(r"([{,]\s*\w+):(?=\S)")
_DECODER = json.JSONDecoder()


@cache
def forms() -> Mapping[str, Any]:
    """Return the table of forms in models' texts that are not meant for the user."""
    return tomllib.loads(Path(__file__).with_name("forms.toml").read_text("utf-8"))


class Offer:
    """The tools that a model may call, and the texts that it was given: a call in these is only quoted."""

    def __init__(self, tools: Sequence[ToolSchema], read: str) -> None:
        self.schemas: Mapping[str, Mapping[str, Any]] = {
            tool["function"]["name"]: tool["function"].get("parameters", {}) for tool in tools
        }
        self._texts = read

    @cached_property
    def _read(self) -> str:
        return _squeezed(self._texts)

    def named(self, name: str) -> str:
        """Return the name of the offered tool that a model means; the name itself if it means none."""
        dressed = None if name in self.schemas else DRESSED_NAME.fullmatch(name)
        return dressed[1] if dressed and dressed[1] in self.schemas else name

    def calls_in(self, text: str) -> list[TextCall]:
        """Return the calls in a text that is a call; none if one of them is not sound, or is only quoted."""
        calls: list[TextCall] = []
        values = list(self._values(text))
        for before, raw, value in values:
            shaped = list(self.shaped(value))
            if not shaped and isinstance(value, dict) and (names := self._names(before)):
                # Mistral, Kimi and others write the name before the arguments.
                shaped = [(names[-1], value)]
            if value and any(map(self.was_read, (raw, json.dumps(value, ensure_ascii=False)))):
                return []
            calls += shaped
        if not values and len(NAME.findall(text)) <= FEW_WORDS and not self.was_read(text):
            calls = [(name, {}) for name in self._names(text)]
        calls = [(name, self._typed(name, args)) for name, args in calls]
        return calls if all(self._is_sound(*call) for call in calls) else []

    def _names(self, text: str) -> Sequence[str]:
        return [name for name in NAME.findall(text) if name in self.schemas]

    def _values(self, text: str) -> Iterator[tuple[str, str, object]]:
        """Yield objects, lists, pairs of keys and values, arguments in Python: each behind the text before it."""
        end, text = 0, regex.sub(any_of(forms()["quotes"]), '"', text[:MOST_CALLED])
        for opening in islice(_openings(tuple(self.schemas)).finditer(text), MOST_BRACKETS):
            start, pairs = opening.start(), opening.capturesdict()
            if start < end:
                continue
            value: tuple[object, int] | None = (dict(zip(*pairs.values(), strict=True)), opening.end())
            if opening[0] == "(":
                keys = self.schemas[self._names(text[:start])[-1]].get("properties", ())
                value = _read(text, start, ")", partial(_python, keys))
            elif not pairs["key"]:
                value = value_at(text, start)
            if value:
                yield text[end:start], text[start : value[1]], value[0]
                end = value[1]

    def _typed(self, name: str, args: Mapping[str, object]) -> Mapping[str, object]:
        """Return the arguments as the tool's schema wants them: a text is read as JSON where no text is expected."""
        properties = self.schemas.get(name, {}).get("properties", {})
        texts = {key for key, value in properties.items() if '"string"' in json.dumps(value)}
        return {key: argument if key in texts else decoded(argument) for key, argument in args.items()}

    def shaped(self, value: object, depth: int = DEEPEST) -> Iterator[TextCall]:
        """Yield the parts of a value of JSON that have the shape of a call."""
        if isinstance(value, list) and depth:
            for each in value:
                yield from self.shaped(each, depth - 1)
        if not isinstance(value, dict) or not depth:
            return
        names = (value[key] for key in forms()["named"] if isinstance(value.get(key), str))
        name = self.named(next(names, ""))
        arguments = next((value[key] for key in forms()["given"] if key in value), None)
        if name and (arguments is not None or name in self.schemas):
            arguments = decoded(arguments)
            yield name, arguments if isinstance(arguments, dict) else {} if arguments is None else {"": arguments}
        elif len(value) == 1 and (key := next(iter(value))) in self.schemas and isinstance(value[key], dict):
            yield key, value[key]
        else:
            for key in forms()["wrapped"]:
                yield from self.shaped(value.get(key), depth - 1)

    def looks_like_call(self, text: str) -> bool:
        """Tell whether a text that begins as a call is meant as one, sound or not."""
        values = [value for _, _, value in self._values(text)]
        if values:
            return any(any(self.shaped(value)) for value in values)
        return re.search(rf"\b(?:{any_of((*forms()['given'], *self.schemas))})[\"'(]", text) is not None

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
    """Return the value of JSON at a place of a text, and the place of its end; None if it is not whole.

    An object that is not JSON, as of Gemma and of Python, is read as YAML; its values are texts.
    """
    try:
        return _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        is_yaml = _YAML.match(text, start, start + MOST_CALLED)
    return _read(text[: is_yaml.end()], start, "}", _yaml) if is_yaml else None


def _read(text: str, start: int, close: str, read: Callable[[str], object]) -> tuple[object, int] | None:
    """Return the value that `read` makes of the shortest readable part of a text, and the place of its end."""
    for end in islice((place + 1 for place in range(start, len(text)) if text[place] == close), MOST_ENDS):
        with suppress(SyntaxError, ValueError, TypeError, RecursionError, MemoryError, yaml.YAMLError):
            return json.loads(json.dumps(read(text[start:end]))), end
    return None


def _yaml(text: str) -> object:
    return yaml.load(_BARE_KEY.sub(r"\1: ", text), yaml.BaseLoader)


def _python(keys: Iterable[str], text: str) -> object:
    call = ast.parse(f"f{text}", mode="eval").body
    if not isinstance(call, ast.Call):
        raise TypeError("no call")
    arguments = [*zip(keys, call.args, strict=False), *((each.arg, each.value) for each in call.keywords)]
    return {key: ast.literal_eval(value) for key, value in arguments}


@lru_cache(maxsize=OFFERS)
def _openings(names: Sequence[str]) -> regex.Pattern[str]:
    """Return the form of the beginnings of values: brackets, pairs of keys and values, a call in Python."""
    pairs, name = "|".join(forms()["pairs"]), any_of(names)
    return regex.compile(rf"(?:(?:{pairs})\s*)+|(?<=\b(?:{name})(?:\.call)?)\(|[\[{{]", regex.DOTALL)


def any_of(texts: Iterable[str]) -> str:
    """Return the form of any of these texts, the longest first."""
    return "|".join(regex.escape(text) for text in sorted(texts, key=len, reverse=True)) or r"(?!)"


def decoded(given: object) -> object:
    """Return the value of a text that is JSON; any other text or value as it is."""
    parsed = value_at(given.strip()) if isinstance(given, str) else None
    return parsed[0] if parsed and parsed[1] == len(str(given).strip()) else given


def _squeezed(text: str) -> str:
    return re.sub(r"[\s\"'\\‹<]", "", text).casefold()
