"""Objects and lists that a tool gave back, as lines a person can read."""

import json
from collections.abc import Mapping
from json import JSONDecodeError, JSONDecoder
from typing import Any

from agents.models.standin.sentences import sentence

MOST_LINES = 10
LONGEST_LINE = 200
"""Characters; what is longer is cut."""


def readable(text: str, lang: str) -> str:
    """Return the JSON of an object as lines `key: value`, that of a list with numbers; any other text as it is."""
    if not text.startswith(("{", "[")):
        return text
    value, is_whole = _parsed(text)
    if value is None:
        return text
    if not value:
        return sentence("nothing_found", lang)
    if isinstance(value, Mapping):
        lines = [_pair(name, item, lang) for name, item in value.items() if item is not None]
    else:
        lines = [f"{number}. {_inline(entry, lang)}" for number, entry in enumerate(value, 1)]
    rest = [sentence("more_of_it", lang)] if len(lines) > MOST_LINES or not is_whole else []
    return "\n".join([*map(_bounded, lines[:MOST_LINES]), *rest])


def _parsed(text: str) -> tuple[Any, bool]:
    """Return an object or a list, and whether it is whole; of a list that was cut, its beginning; None of else."""
    try:
        return json.loads(text), True
    except (ValueError, RecursionError):
        return _begun(text) if text.startswith("[") else None, False


def _begun(text: str) -> list[Any] | None:
    values: list[Any] = []
    decoder, place = JSONDecoder(), 1
    while len(values) <= MOST_LINES and place < len(text):
        try:
            value, place = decoder.raw_decode(text, place)
        except (JSONDecodeError, RecursionError):
            break
        values.append(value)
        if text[place : place + 1] != ",":
            break
        place += 1
    return values or None


def _pair(name: str, value: Any, lang: str) -> str:
    return f"{name.replace('_', ' ')}: {_inline(value, lang)}"


def _inline(value: Any, lang: str) -> str:
    match value:
        case None:
            return "-"
        case bool():
            return sentence("true" if value else "false", lang)
        case float() if value.is_integer():
            return str(int(value))
        case dict():
            pairs = (_pair(name, item, lang) for name, item in value.items() if item is not None)
            return ", ".join(pairs) or "-"
        case list():
            return "; ".join(_inline(item, lang) for item in value) or "-"
    return " ".join(str(value).split())


def _bounded(line: str) -> str:
    return line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 1]}…"
