"""The fields of a form that a tool asks for: their names, which may be left out, what a text labels as theirs."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from pydantic import AliasChoices, BaseModel

from agents.language.text.vocabulary import is_said
from agents.state.talk import Fields

LONGEST_FORM = 4_000
"""Characters of a message that is read as a filled-in form."""


@dataclass(frozen=True)
class FormFields:
    """The fields of a form that the user has yet to fill in."""

    labels: Mapping[str, str]
    """The label of each field in the user's language, by the field's name."""
    optional: Collection[str] = ()
    """The names of the fields that the user may leave out."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Other names of fields, each with the field's own name."""


def size_of(value: object) -> int:
    """Return how many characters a value of a form has, all entries of a list or an object together."""
    if isinstance(value, BaseModel):
        return size_of(value.model_dump())
    if isinstance(value, Mapping):
        return sum(size_of(name) + size_of(inner) for name, inner in value.items())
    if isinstance(value, list | tuple | set | frozenset):
        return sum(map(size_of, value)) + len(value)
    return len(str(value))


def stored_fields(form: type[BaseModel] | None) -> Fields:
    """Return what a pending question stores of its form: the fields, the optional ones and their other names."""
    fields = form.model_fields if form else {}
    aliases = {alias: name for name, field in fields.items() for alias in _aliases(field.validation_alias)}
    return {
        "fields": [*fields],
        "optional": [name for name, field in fields.items() if not field.is_required()],
        "aliases": {alias: name for alias, name in aliases.items() if alias not in fields},
    }


def left_out(form_fields: FormFields, text: str) -> set[str]:
    """Return the fields that a text leaves out: all that may be ("skip"), or those with nothing behind their label."""
    may = {name for name in form_fields.labels if name in form_fields.optional}
    if len(text) > LONGEST_FORM:
        return set()
    if is_said("omit", text):
        return may
    raw = labelled(text.strip(), form_fields).items()
    return {name for name, value in raw if name in may and isinstance(value, str) and _is_nothing(value)}


def _is_nothing(value: str) -> bool:
    return not value.strip() or is_said("omit", value)


def labelled(text: str, form_fields: FormFields) -> dict[str, object]:
    """Return the values that stand beside a label or a name: in JSON, or in lines."""
    names = {alias: name for alias, name in form_fields.aliases.items() if name in form_fields.labels}
    names |= {name: name for name in form_fields.labels}
    labels = {label: name for name, label in form_fields.labels.items()}
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
    """Return the plain names that pydantic takes for a field, without its paths into nested values."""
    return [name for name in (alias.choices if isinstance(alias, AliasChoices) else [alias]) if isinstance(name, str)]
