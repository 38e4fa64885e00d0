"""The values of forms in people's own writing: dates, numbers, amounts of money, lists, choices by another name."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from types import NoneType
from typing import get_args, get_origin

from pydantic import BaseModel

from agents.language.schedule import zone_of
from agents.language.schedule.grammar import words as moment_words
from agents.language.schedule.parser import moment
from agents.language.text.stems import stems
from agents.language.text.vocabulary import is_said, small_words
from agents.state.speaker_state import Json
from agents.toolkit.questions.form import permitted
from prompts import form_texts, language

Names = Mapping[str, Sequence[str]]
"""The synonyms of permitted values, by value: `values.Friday = ["fri"]` of a field in its form's texts."""
LONG_AGO = datetime(1900, 1, 1, tzinfo=UTC)
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_BETWEEN = re.compile(r"[,;\n，、；]")
_AMOUNT = re.compile(r"[-−]?\d[\d \xa0.,']*")
_SPACES = re.compile(r"[ \xa0']")


def fitting(form: type[BaseModel], owner: str, lang: str, values: Json, now: datetime) -> Json:
    """Return values in the kinds of their fields: "a, b" as a list, "Fri" as "Friday", "1 200 €" as 1200."""
    texts = form_texts(owner, lang)
    names = {name: texts.get(name, {}).get("values", {}) for name in values}
    kinds = {name: form.model_fields[name].annotation for name in values}
    return {name: _fitting(value, kinds[name], names[name], lang, now) for name, value in values.items()}


def _fitting(value: object, annotation: object, names: Names, lang: str, now: datetime) -> object:
    """Return a value in the kind of its field; an unknown value stays as it is, and the form refuses it."""
    kinds = {annotation, *get_args(annotation)} - {NoneType}
    if entries := next((kind for kind in kinds if get_origin(kind) in (list, set, frozenset)), None):
        parts = [part.strip() for part in _BETWEEN.split(value) if part.strip()] if isinstance(value, str) else value
        kind = next(iter(get_args(entries)), str)
        return [_fitting(part, kind, names, lang, now) for part in parts] if isinstance(parts, list) else value
    if not isinstance(value, str) or str in kinds:
        return value
    if bool in kinds:
        return next((idea == "yes" for idea in ("yes", "no") if is_said(idea, value)), value)
    if choices := permitted(annotation):
        called = {name.casefold(): choice for choice in choices for name in (*names.get(str(choice), ()), str(choice))}
        return called.get(value.strip(" .!").casefold(), value)
    if kind := next((kind for kind in (datetime, date, time) if kind in kinds), None):
        return _moment(value, kind, lang, now)
    return _amount(value, lang) if kinds & {int, float, Decimal} else value


def _moment(text: str, kind: type, lang: str, now: datetime) -> object:
    """Return the date or the time in a text: a future one or, with its year, a past one; else the text."""
    # A day counts from its beginning, so that today counts as a future day.
    begins = [now if kind is not date else now.replace(hour=0, minute=0, second=0, microsecond=0)]
    begins += [LONG_AGO.astimezone(now.tzinfo)] if _YEAR.search(text) else []
    readings = (moment(text, lang, begin, zone_of(now)) for begin in begins)
    at = next((reading.at for reading in readings if reading), None)
    if at is None or kind is datetime:
        return at or text
    return at.date() if kind is date else at.time()


def _amount(text: str, lang: str) -> str:
    """Return the only number of a text with at most one more word ("1 200,50 €", "twenty people"), else the text."""
    lexicon = moment_words(lang)
    figured = lexicon.figured(text.lower())
    if (spelled := lexicon.number(figured)) is not None:
        return str(spelled)
    numbers, others = _AMOUNT.findall(figured), {*stems(_AMOUNT.sub(" ", figured), lang)} - small_words(lang)
    if len(numbers) != 1 or len(others) > 1:
        return text
    *groups, last = re.split("[.,]", _SPACES.sub("", numbers[0]).rstrip(".,").replace("−", "-"))
    sign = next((sign for sign in reversed(numbers[0]) if sign in ".,"), "")
    is_grouped = len(last) == 3 and (sign != language(lang).decimal or len(groups) > 1)
    return "".join(groups) + (f".{last}" if groups and not is_grouped else last)
