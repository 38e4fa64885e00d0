"""The form that a tool asks the user to fill in: its fields, their values in a message, and what is wrong with them.

Values come as JSON, as `label: value` lines, or bare if only one field is open.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal, get_args, get_origin

from pydantic import AliasChoices, BaseModel, ValidationError, create_model
from pydantic_core import ErrorDetails

from agents.language.text.stems import words
from agents.language.text.vocabulary import is_said
from agents.state.talk import Fields, Json
from prompts import sentence, table

FEW_WORDS = 4
"""Words; a longer message that does not fit the only open field is about something else."""
LONGEST_FORM = 4_000
"""Characters of a message that is read as a filled-in form."""
LONGEST_REASON = 300
"""Characters of one reason."""
MOST_VALUES = 20
"""Permitted values that are named."""


@dataclass(frozen=True)
class FormFields:
    """The fields of a form that the user has yet to fill in."""

    labels: Mapping[str, str]
    optional: Collection[str] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)


def filled(
    form: type[BaseModel], form_fields: FormFields, text: str, *, sure: bool, without: Collection[str] = ()
) -> Json:
    """Return the values that a text gives to the fields that are wanted; empty if it gives none.

    A single field takes the whole text, but one that was typed for the form alone (`sure`) or has no question
    mark; several are told apart by their labels or names. Fields of `without` were left out.

    Raises:
        ValidationError: a value does not fit its field.
    """
    raw = {name: value for name, value in raw_values(form_fields, text, sure=sure).items() if name not in without}
    if not raw:
        return {}
    parts: dict[str, Any] = {name: (form.model_fields[name].annotation, form.model_fields[name]) for name in raw}
    part = create_model(f"{form.__name__}Part", **parts)
    values = {name: _fitting(value, form.model_fields[name].annotation) for name, value in raw.items()}
    return part.model_validate(values, by_alias=True, by_name=True).model_dump(mode="json")


def raw_values(form_fields: FormFields, text: str, *, sure: bool) -> dict[str, object]:
    """Return what a text gives to fields, as it stands there."""
    text = text.strip()
    if len(text) > LONGEST_FORM:
        return {}
    raw = labelled(text, form_fields)
    if not raw and len(form_fields.labels) == 1 and (sure or not text.endswith("?")) and text:
        return {next(iter(form_fields.labels)): text}
    return raw


def _fitting(value: object, annotation: object) -> object:
    """Bring what people write into the form of the field: "a, b" for a list, "да" for true, "Red" for `red`."""
    if not isinstance(value, str):
        return value
    kinds = [annotation, *get_args(annotation)]
    if any(get_origin(kind) is list for kind in kinds):
        return [part.strip() for part in value.split(",") if part.strip()]
    if bool in kinds:
        return next((idea == "yes" for idea in ("yes", "no") if is_said(idea, value)), value)
    return next((choice for choice in permitted(annotation) if str(choice).casefold() == value.casefold()), value)


def permitted(annotation: object) -> list[object]:
    """Return the values that a field admits, if it admits only a few; empty for one that is not so bounded."""
    if get_origin(annotation) is Literal:
        return [*get_args(annotation)]
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return [member.value for member in annotation]
    return [value for kind in get_args(annotation) for value in permitted(kind)]


def takes_no(form: type[BaseModel], form_fields: FormFields) -> bool:
    """Tell whether "no" is a value of the one field that is wanted."""
    fields = [form.model_fields[name].annotation for name in form_fields.labels]
    return len(fields) == 1 and bool in (fields[0], *get_args(fields[0]))


def is_sentence(text: str, form_fields: FormFields) -> bool:
    """Tell whether a text that does not fit is rather about something else: it is long and names no field."""
    return not labelled(text.strip(), form_fields) and len(words(text)) > FEW_WORDS


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


def misfits(form: type[BaseModel], wrong: ValidationError, lang: str) -> dict[str, str]:
    """Return what is wrong by the name of the field; under "" what is wrong with values that do not go together."""
    reasons: dict[str, list[str]] = {}
    for error in wrong.errors():
        name = str(error["loc"][0]) if error["loc"] else ""
        text = " ".join(_reason(form, name, error, lang).split())[:LONGEST_REASON]
        texts = reasons.setdefault(name, [])
        # Of a list every entry may be wrong in the same way.
        texts += [text] if text not in texts else []
    return {name: " / ".join(texts) for name, texts in reasons.items()}


def _reason(form: type[BaseModel], name: str, error: ErrorDetails, lang: str) -> str:
    context: Mapping[str, object] = error.get("ctx", {})
    # The developer's own words: those of an exception in a validator, or of an error that pydantic does not know.
    own = str(context.get("error", "")) if error["type"] in ("value_error", "assertion_error") else ""
    if own or ("url" not in error and error["type"] != "value_error"):
        return own or error["msg"]
    sentences = table("form_errors", lang)
    names = (error["type"], error["type"].partition("_")[0], "rest")
    key = next(name for name in names if name in sentences)
    field = form.model_fields.get(name)
    values = _values(permitted(field.annotation) if field else ())
    return sentence("form_errors", key, lang, **{**context, "values": values})


def _values(values: Iterable[object]) -> str:
    texts = [str(value) for value in values]
    return ", ".join([*texts[:MOST_VALUES], *(["…"] if len(texts) > MOST_VALUES else [])])
