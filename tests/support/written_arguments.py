"""Arguments in the form of a model that reads the translated schema."""

import json
from collections.abc import Mapping
from typing import Any

from agents.toolkit.argument_forms import WRITTEN, fits


def written(given_: Any, schema: Mapping[str, Any]) -> Any:  # noqa: C901  # a line for each type
    """Return a value in the form of a model that reads the translated schema. Raises ValueError: there is none."""
    if "anyOf" in schema:
        for branch in sorted(schema["anyOf"], key=lambda branch: branch["type"] == "string"):
            try:
                return written(given_, branch)
            except ValueError:
                continue
        if given_ is None:
            # Some clients do not show a choice with null; a model may write it all the same.
            return None
        raise ValueError(f"{given_!r} has no branch")
    if "enum" in schema:
        text = given_ if isinstance(given_, str) and given_ else json.dumps(given_)
        # A number stands in brackets if its digits are also listed as a text.
        text = f"({text})" if text is not given_ and f"({text})" in schema["enum"] else text
        if text not in schema["enum"]:
            raise ValueError(f"{text} is not listed")
        return text
    match schema["type"]:
        case "object" if isinstance(given_, dict) and [*schema["properties"]] == [WRITTEN]:
            return {WRITTEN: json.dumps(given_)}
        case "object" if isinstance(given_, dict):
            keys = {name: _key(name, schema["properties"]) for name in given_}
            made = {keys[name]: written(inner, schema["properties"][keys[name]]) for name, inner in given_.items()}
            if not set(schema.get("required", ())) <= made.keys():
                raise ValueError("something is missing")
            return made
        case "array" if isinstance(given_, list):
            return [written(entry, schema["items"]) for entry in given_]
        case "string" if isinstance(given_, dict | list) and "JSON text" in schema.get("description", ""):
            return json.dumps(given_)
    if not fits(given_, schema):
        raise ValueError(f"{given_!r} is no {schema['type']}")
    return given_


def _key(name: str, properties: Mapping[str, Any]) -> str:
    """Return the key of a name: the name itself, or the key whose description begins with it."""
    keys = [key for key, rule in properties.items() if rule.get("description", "").startswith(f"{name}:")]
    if not (keys or name in properties):
        raise ValueError(f"no {name}")
    return keys[0] if keys else name
