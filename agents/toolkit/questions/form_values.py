"""Read form values from a message: JSON, `label: value` lines, or the bare value of the only open field."""

from collections.abc import Collection, Mapping
from enum import Enum
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, create_model

from agents.language.text.stems import words
from agents.language.text.vocabulary import is_said
from agents.state.talk import Json
from agents.toolkit.questions.form_fields import LONGEST_FORM, FormFields, labelled

FEW_WORDS = 4
"""Words; a longer message that is no value of the only open field is about something else."""


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


def complete_form(form: type[BaseModel], values: Mapping[str, object]) -> Json:
    """Return the form filled in with all its values; a field without one takes its default.

    Raises:
        ValidationError: they do not go together.
    """
    return form.model_validate(dict(values), by_alias=True, by_name=True).model_dump(mode="json")


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
