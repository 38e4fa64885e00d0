"""The form that a tool asks the user to fill in: its fields, their values in a message, and the faults of these.

Values come as JSON, as `label: value` lines, or bare: for the only field that is open, or a few words for the first.
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal, get_args, get_origin

from pydantic import AliasChoices, BaseModel, ValidationError, create_model
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, to_jsonable_python

from agents.language.text.stems import words
from agents.language.text.vocabulary import is_said, listening, mentions, vocabulary, wishes
from agents.state.speaker_state import Fields, Json
from prompts import sentence, table

FEW_WORDS = 4
"""Words; a longer message that does not fit the only open field is about something else."""
LONGEST_FORM = 4_000
"""Characters of a message that is read as a filled-in form."""
LONGEST_REASON = 300
"""Characters of one reason."""
Fitting = Callable[[Json], Json]
MARKS = ("asked", "names_user")
"""Our flags in a field's `json_schema_extra`."""
OF_SCHEMAS = ("deprecated", "readOnly", "writeOnly", "nullable", "uniqueItems", "additionalProperties")
"""The flags of JSON Schema."""
EMPTY: Sequence[object] = (None, "", [], {}, set())
MOST_VALUES = 20
"""The most permitted values to name."""


@dataclass(frozen=True)
class FormFields:
    """The fields of a form that the user has yet to fill in, and those that another value may replace."""

    labels: Mapping[str, str]
    optional: Collection[str] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)
    """The labels of the fields with a value."""


def filled(
    form: type[BaseModel], form_fields: FormFields, text: str, fitting: Fitting, *, sure: bool, without: Collection[str]
) -> Json:
    """Return the values of the wanted fields that a text has; it may have none.

    A single field takes the whole text if the text is for the form alone (`sure`) or has no question mark at its end;
    values of several fields stand beside their labels or names. Fields of `without` were left out. Raises
    ValidationError if a value does not fit its field.
    """
    raw = {name: value for name, value in raw_values(form_fields, text, sure=sure).items() if name not in without}
    if not raw:
        return {}
    parts: dict[str, Any] = {name: (form.model_fields[name].annotation, form.model_fields[name]) for name in raw}
    part = create_model(f"{form.__name__}Part", **parts)
    return part.model_validate(fitting(raw), by_alias=True, by_name=True).model_dump(mode="json")


def raw_values(form_fields: FormFields, text: str, *, sure: bool) -> dict[str, object]:
    """Return the values in a text for the fields, before any conversion."""
    text = text.strip()
    if len(text) > LONGEST_FORM:
        return {}
    raw = labelled(text, form_fields)
    if not raw and len(form_fields.labels) == 1 and (sure or not text.endswith("?")) and text:
        return {next(iter(form_fields.labels)): text}
    return raw


def missing(form: type[BaseModel], values: Mapping[str, object]) -> list[str]:
    """Return the fields to ask for, those without a value, in order; a default that is not empty counts as one."""
    fields = {name: field for name, field in form.model_fields.items() if values.get(name) in EMPTY}
    asks = {name: field for name, field in fields.items() if extra(field, "asked") is not False}
    return [
        name
        for name, field in asks.items()
        if field.is_required() or field.get_default(call_default_factory=True) in EMPTY
    ]


def extra(field: FieldInfo, name: str) -> object:
    """Return the value under a name in a field's `json_schema_extra`; None if there is none."""
    return field.json_schema_extra.get(name) if isinstance(field.json_schema_extra, dict) else None


def wrong_mark(form: type[BaseModel]) -> str:
    """Return the first flag in a field's `json_schema_extra` that nothing reads; empty without one."""
    for name, info in form.model_fields.items():
        for mark, value in (info.json_schema_extra if isinstance(info.json_schema_extra, dict) else {}).items():
            if mark not in OF_SCHEMAS and (mark in MARKS) != isinstance(value, bool):
                return f"{name!r}: json_schema_extra has {mark!r}: {value!r}; there are {MARKS}, True or False"
    return ""


def permitted(annotation: object) -> list[object]:
    """Return the only values that a field admits; empty if its values are not listed."""
    if get_origin(annotation) is Literal:
        return [*get_args(annotation)]
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return [member.value for member in annotation]
    return [value for kind in get_args(annotation) for value in permitted(kind)]


def takes_no(form: type[BaseModel], form_fields: FormFields) -> bool:
    """Tell whether "no" is a value of the only wanted field."""
    fields = [form.model_fields[name].annotation for name in form_fields.labels]
    return len(fields) == 1 and bool in (fields[0], *get_args(fields[0]))


def is_sentence(text: str, form_fields: FormFields) -> bool:
    """Tell whether a text that does not fit is about something else: it is long and names no field."""
    return not labelled(text.strip(), form_fields) and len(words(text)) > FEW_WORDS


def is_value(text: str, lang: str) -> bool:
    """Tell whether a text is a few bare words that may be a value: no question, wish, statement, thanks, yes or no."""
    lexicon = vocabulary(listening(text, lang))
    speaks = lexicon.asks(text) or wishes(text, lang) or lexicon.made_of(text, "thanks", "yes", "no", "fillers")
    return not (
        speaks
        or "\n" in text.strip()
        or len(words(text, 1)) > FEW_WORDS
        or mentions("statements", text, lexicon.lang)
        or mentions("pointing", text, lexicon.lang)
    )


def size_of(value: object) -> int:
    """Return how many characters a value of a form has; a list or an object is counted as JSON."""
    return len(
        value if isinstance(value, str) else json.dumps(to_jsonable_python(value, fallback=str), ensure_ascii=False)
    )


def value_in_words(value: object) -> str:
    """Return a value of a form as people read it."""
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def stored_fields(form: type[BaseModel] | None) -> Fields:
    """Return a form as a pending question stores it: the fields, the optional ones and their other names."""
    fields = form.model_fields if form else {}
    aliases: dict[str, str] = {}
    for name, info in fields.items():
        given = info.validation_alias
        choices = given.choices if isinstance(given, AliasChoices) else [given]
        # Nobody would write the path into a nested value as a name.
        aliases |= {alias: name for alias in choices if isinstance(alias, str) and alias not in fields}
    optional = [name for name, info in fields.items() if not info.is_required()]
    return {"fields": [*fields], "optional": optional, "aliases": aliases}


def left_out(form_fields: FormFields, text: str) -> set[str]:
    """Return the fields that a text leaves out: all optional ones ("skip"), or those with an empty value."""
    may = {name for name in form_fields.labels if name in form_fields.optional}
    if len(text) > LONGEST_FORM:
        return set()
    if is_said("omit", text):
        return may
    raw = labelled(text.strip(), form_fields)
    texts = {name: value.strip() for name, value in raw.items() if name in may and isinstance(value, str)}
    return {name for name, value in texts.items() if not value or is_said("omit", value)}


def labelled(text: str, form_fields: FormFields) -> dict[str, object]:
    """Return the values that stand beside a label or a name: in JSON, or in lines."""
    fields = {**form_fields.given, **form_fields.labels}
    names = {alias: name for alias, name in form_fields.aliases.items() if name in fields}
    names |= {name: name for name in fields}
    labels = {label: name for name, label in fields.items()}
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


def misfits(form: type[BaseModel], wrong: ValidationError, lang: str) -> dict[str, str]:
    """Return the faults by the name of the field; under "" the fault of values that do not go together."""
    reasons: dict[str, list[str]] = {}
    for error in wrong.errors():
        name = str(error["loc"][0]) if error["loc"] else ""
        text = " ".join(_reason(form, name, error, lang).split())[:LONGEST_REASON]
        texts = reasons.setdefault(name, [])
        # Every entry of a list may be wrong in the same way.
        texts += [text] if text not in texts else []
    return {name: " / ".join(texts) for name, texts in reasons.items()}


def _reason(form: type[BaseModel], name: str, error: ErrorDetails, lang: str) -> str:
    field = form.model_fields.get(name)
    return reason_of(error, lang, [str(value) for value in permitted(field.annotation)] if field else [])


def reason_of(error: ErrorDetails, lang: str, texts: Sequence[str] = ()) -> str:
    """Return the reason why a value does not fit, in a sentence for users; `texts` are the values that would fit."""
    context: Mapping[str, object] = error.get("ctx", {})
    # The developer's own words are in an exception of a validator, or in an error that pydantic does not know.
    own = str(context.get("error", "")) if error["type"] in ("value_error", "assertion_error") else ""
    if own or ("url" not in error and error["type"] != "value_error"):
        return own or error["msg"]
    sentences = table("form_errors", lang)
    names = (error["type"], error["type"].partition("_")[0], "rest")
    key = next(name for name in names if name in sentences)
    values = ", ".join(texts if len(texts) <= MOST_VALUES else [*texts[:MOST_VALUES], "…"])
    return sentence("form_errors", key, lang, **{**context, "values": values})
