"""What a message fills in of a form: JSON, `label: value` lines, or the value itself when only one is wanted."""

import json
from collections.abc import Mapping
from typing import Any, get_args, get_origin

from pydantic import BaseModel, create_model

LONGEST = 4_000
"""Characters of a message that is read as a filled-in form."""


def filled(form: type[BaseModel], labels: Mapping[str, str], text: str, *, sure: bool) -> dict[str, Any]:
    """Return the values that a text gives to the fields named by `labels`; empty if it gives none.

    A single field takes the whole text, but one that was typed for the form alone (`sure`) or has no question
    mark; several are told apart by their labels or names.

    Raises:
        ValidationError: a value does not fit its field.
    """
    raw = given(labels, text, sure=sure)
    if not raw:
        return {}
    wanted: dict[str, Any] = {name: (form.model_fields[name].annotation, form.model_fields[name]) for name in raw}
    part = create_model(f"{form.__name__}Part", **wanted)
    values = {name: _listed(value, form.model_fields[name].annotation) for name, value in raw.items()}
    return part.model_validate(values).model_dump(mode="json")


def given(labels: Mapping[str, str], text: str, *, sure: bool) -> dict[str, Any]:
    """Return what a text gives to fields, as it stands there."""
    text = text.strip()
    if len(text) > LONGEST:
        return {}
    raw = _from_json(text, labels) or _from_lines(text, labels)
    if not raw and len(labels) == 1 and (sure or not text.endswith("?")) and text:
        return {next(iter(labels)): text}
    return raw


def _from_json(text: str, labels: Mapping[str, str]) -> dict[str, Any]:
    try:
        found = json.loads(text) if text.startswith("{") else {}
    except ValueError:
        return {}
    return {name: value for name, value in found.items() if name in labels}


def _from_lines(text: str, labels: Mapping[str, str]) -> dict[str, Any]:
    names = {label.casefold(): name for name, label in labels.items()} | {name.casefold(): name for name in labels}
    pairs = (line.partition(":") for line in text.splitlines())
    return {names[key.strip().casefold()]: value.strip() for key, _, value in pairs if key.strip().casefold() in names}


def _listed(value: Any, annotation: Any) -> Any:
    """Take "a, b" for a list of two where the field wants a list."""
    wants_list = any(get_origin(kind) is list for kind in (annotation, *get_args(annotation)))
    return [one.strip() for one in value.split(",") if one.strip()] if wants_list and isinstance(value, str) else value
