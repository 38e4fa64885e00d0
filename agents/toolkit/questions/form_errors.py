"""Messages to the user about values that a form rejects, in their language and without technical terms."""

from collections.abc import Iterable, Mapping

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from agents.toolkit.questions.form_values import permitted
from prompts import sentence, table

LONGEST_REASON = 300
"""Characters of one reason."""
MOST_VALUES = 20
"""Permitted values that are named."""


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
