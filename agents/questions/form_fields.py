"""The fields of a form that a tool asks for: their names, which may be left out, what a text labels as theirs."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from pydantic import AliasChoices, BaseModel

from agents.talk import Fields
from agents.text.phrases import is_said

LONGEST = 4_000
"""Characters of a message that is read as a filled-in form."""


@dataclass(frozen=True)
class Blanks:
    """The fields of a form that are still wanted."""

    labels: Mapping[str, str]
    """What the user calls each, by its name."""
    optional: Collection[str] = ()
    """Those that may be left out."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Names that a field goes by beside its own, each with that."""


def blank(form: type[BaseModel] | None) -> Fields:
    """Return what is kept of a form that is asked for: its fields, those that may be left out, other names."""
    fields = form.model_fields if form else {}
    aliases = {alias: name for name, field in fields.items() for alias in _aliases(field.validation_alias)}
    return {
        "fields": [*fields],
        "optional": [name for name, field in fields.items() if not field.is_required()],
        "aliases": {alias: name for alias, name in aliases.items() if alias not in fields},
    }


def left_out(blanks: Blanks, text: str) -> set[str]:
    """Return the fields that a text leaves out: all that may be ("skip"), or those with nothing behind their label."""
    may = {name for name in blanks.labels if name in blanks.optional}
    if len(text) > LONGEST:
        return set()
    if is_said("omit", text):
        return may
    raw = labelled(text.strip(), blanks).items()
    return {name for name, value in raw if name in may and isinstance(value, str) and _is_nothing(value)}


def _is_nothing(value: str) -> bool:
    return not value.strip() or is_said("omit", value)


def labelled(text: str, blanks: Blanks) -> dict[str, object]:
    """Return the values that stand beside a label or a name: in JSON, or in lines."""
    names = {alias: name for alias, name in blanks.aliases.items() if name in blanks.labels}
    names |= {name: name for name in blanks.labels}
    labels = {label: name for name, label in blanks.labels.items()}
    return _from_json(text, names) or _from_lines(text, {**names, **labels})


def _from_json(text: str, names: Mapping[str, str]) -> dict[str, object]:
    try:
        values = json.loads(text) if text.startswith("{") else {}
    except (ValueError, RecursionError):
        return {}
    return {names[key]: value for key, value in values.items() if key in names}


def _from_lines(text: str, names: Mapping[str, str]) -> dict[str, object]:
    by_label = {key.casefold(): name for key, name in names.items()}
    pairs = (line.partition(":") for line in text.splitlines())
    values = ((by_label.get(key.strip().casefold()), value.strip()) for key, colon, value in pairs if colon)
    return {name: value for name, value in values if name is not None}


def _aliases(alias: object) -> list[str]:
    """Return the plain names among what pydantic takes for a field; a path into something else is none."""
    return [name for name in (alias.choices if isinstance(alias, AliasChoices) else [alias]) if isinstance(name, str)]
