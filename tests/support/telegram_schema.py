"""The Bot API's published description, and checks of values: methods, objects, and the types of their fields.

Machines without the description use a small table of the bot's own methods; a test compares the table with it.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from tests.support.places import DATA
from tests.support.telegram_table import METHODS, TYPES

DESCRIPTION = DATA / "telegram-bot-api" / "api-10.3.json"
PLAIN: Mapping[str, Any] = {
    "Integer": int,
    "Float": (int, float),
    "String": str,
    "Boolean": bool,
    "InputFile": (bytes, str),
}

Field = Mapping[str, Any]


@cache
def described() -> dict[str, Any]:
    """Return methods and types of the Bot API: from its description, else from the built-in table."""
    return dict(json.loads(DESCRIPTION.read_text("utf-8"))) if DESCRIPTION.exists() else built_in()


def built_in() -> dict[str, Any]:
    """Return the table of the bot's own methods, in the form of the description."""
    return {
        "methods": {
            name: {"fields": _fields(fields), "returns": _types(returns)} for name, (returns, fields) in METHODS.items()
        },
        "types": {name: {"fields": _fields(fields)} for name, fields in TYPES.items()},
    }


def parameter_faults(method: str, sent: Mapping[str, Any]) -> list[str]:
    """Return the parameters of a call that are missing, unknown or of a wrong type; bytes stand for a file."""
    description = described()["methods"].get(method)
    if description is None:
        return [f"there is no method {method}"]
    if method not in METHODS:
        return [f"{method} is not in tests/support/telegram_table.py"]
    return _object_faults(method, sent, description.get("fields", []))


def answer_faults(method: str, result: Any) -> list[str]:
    """Return the faults of the server's answer: it must be as strict as the real one."""
    return value_faults(method, result, described()["methods"][method]["returns"])


def value_faults(place: str, value: Any, types: Sequence[str]) -> list[str]:
    """Return the faults of a value that is of none of these types; nothing for a right value."""
    alternatives = [_type_faults(place, value, name) for name in types]
    # The alternative with the fewest faults counts.
    return min(alternatives, key=len, default=[])


def _type_faults(place: str, value: Any, name: str) -> list[str]:
    if name.startswith("Array of "):
        if not isinstance(value, list):
            return [f"{place}: {value!r} is no array"]
        return [fault for element in value for fault in _type_faults(place, element, name.removeprefix("Array of "))]
    if name in PLAIN:
        wrong = isinstance(value, bool) != (name == "Boolean") or not isinstance(value, PLAIN[name])
        return [f"{place}: {value!r} is no {name}"] if wrong else []
    description = described()["types"].get(name)
    if description is None:
        # The table leaves out types that the bot uses by name alone.
        return [] if isinstance(value, Mapping) else [f"{place}: {value!r} is no {name}"]
    if subtypes := description.get("subtypes"):
        return value_faults(place, value, subtypes)
    return _object_faults(f"{place}.{name}", value, description.get("fields", []))


def _object_faults(place: str, value: Any, fields: Sequence[Field]) -> list[str]:
    if not isinstance(value, Mapping):
        return [f"{place}: {value!r} is no object"]
    by_name = {field["name"]: field for field in fields}
    faults = [f"{place}: {name} is unknown" for name in value if name not in by_name]
    faults += [
        f"{place}: {name} is missing" for name, field in by_name.items() if field["required"] and name not in value
    ]
    for name in value.keys() & by_name.keys():
        faults += value_faults(f"{place}.{name}", value[name], by_name[name]["types"])
    return faults


def _fields(line: str) -> list[Field]:
    """Read "chat_id!: Integer|String, text: String"; "!" marks a required field."""
    fields: list[Field] = []
    for part in filter(None, (part.strip() for part in line.split(","))):
        name, _, types = part.partition(":")
        fields.append({"name": name.rstrip("!"), "required": name.endswith("!"), "types": _types(types)})
    return fields


def _types(words: str) -> list[str]:
    return [word.strip() for word in words.split("|")]
