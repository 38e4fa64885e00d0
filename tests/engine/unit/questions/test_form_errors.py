"""A form names its refused values in the user's language, in plain words."""

import datetime
from collections.abc import Iterator
from enum import Enum
from typing import Annotated, Any, Literal, get_args

import pytest
from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen, MultipleOf
from pydantic import AfterValidator, BaseModel, PastDate, StringConstraints, ValidationError, create_model
from pydantic_core import PydanticCustomError
from pydantic_core.core_schema import ErrorType

from agents.language.text.stems import letters_of
from agents.toolkit.questions.form import misfits
from prompts import FALLBACK, languages, table
from tests.support.places import ROOT


class Size(Enum):
    """A size."""

    SMALL = "small"
    LARGE = "large"


def _refused(value: str) -> str:
    raise ValueError(f"we do not deliver to {value}")


def _doubted(value: str) -> str:
    raise AssertionError(f"{value} is not Bern")


def _unknown(value: str) -> str:
    raise PydanticCustomError("no_such_street", "there is no {street}", {"street": value})


TOLD: list[tuple[Any, Any, str, str]] = [
    (int, "x", "a whole number is needed, such as 12", "нужно целое число, например 12"),
    (int, "3.5", "a whole number is needed, such as 12", "нужно целое число, например 12"),
    (int | None, "x", "a whole number is needed, such as 12", "нужно целое число, например 12"),
    (list[int], ["x", "y"], "a whole number is needed, such as 12", "нужно целое число, например 12"),
    (float, "x", "a number is needed, such as 12.5", "нужно число, например 12.5"),
    (
        datetime.date,
        "soon",
        "a date is needed, such as 31 May or next Friday",
        "нужна дата, например 31 мая или в пятницу",
    ),
    (
        datetime.date,
        "2030-13-01",
        "a date is needed, such as 31 May or next Friday",
        "нужна дата, например 31 мая или в пятницу",
    ),
    (PastDate, "9000-01-01", "this has to be a date in the past", "нужна дата в прошлом"),
    (
        datetime.datetime,
        "soon",
        "a date and a time are needed, such as 2030-05-31 18:30",
        "нужны дата и время, например 2030-05-31 18:30",
    ),
    (datetime.time, "soon", "a time is needed, such as 18:30", "нужно время, например 18:30"),
    (bool, "x", "yes or no is needed", "нужно ответить «да» или «нет»"),
    (Literal["a", "b"], "x", "one of these is needed: a, b", "нужно что-то из этого: a, b"),
    (Size | None, "x", "one of these is needed: small, large", "нужно что-то из этого: small, large"),
    (Annotated[int, Gt(3)], "3", "it has to be more than 3", "нужно больше, чем 3"),
    (Annotated[int, Ge(3)], "2", "it has to be 3 or more", "нужно не меньше, чем 3"),
    (Annotated[int, Lt(3)], "3", "it has to be less than 3", "нужно меньше, чем 3"),
    (
        Annotated[datetime.date, Le(datetime.date(2030, 1, 1))],
        "2031-01-01",
        "it has to be 2030-01-01 or less",
        "нужно не больше, чем 2030-01-01",
    ),
    (Annotated[int, MultipleOf(5)], "3", "it has to be a multiple of 5", "число должно делиться на 5"),
    (
        Annotated[str, MinLen(3)],
        "x",
        "this is too short: 3 or more characters are needed",
        "слишком коротко, наименьшее число знаков – 3",
    ),
    (
        Annotated[str, MaxLen(3)],
        "four",
        "this is too long: no more characters than 3 fit",
        "слишком длинно, наибольшее число знаков – 3",
    ),
    (
        Annotated[str, StringConstraints(pattern="^a+$")],
        "b",
        "it has to be written in another way",
        "это пишется иначе",
    ),
    (complex, "x", "this does not fit", "так не подойдёт"),
    (Annotated[str, AfterValidator(_refused)], "Rome", "we do not deliver to Rome", "we do not deliver to Rome"),
    (Annotated[str, AfterValidator(_doubted)], "Rome", "Rome is not Bern", "Rome is not Bern"),
    (Annotated[str, AfterValidator(_unknown)], "Elm Street", "there is no Elm Street", "there is no Elm Street"),
]


def told(form: type[BaseModel], values: dict[str, Any], lang: str) -> dict[str, str]:
    """Return the error texts of wrong values."""
    with pytest.raises(ValidationError) as wrong:
        form.model_validate(values)
    return misfits(form, wrong.value, lang)


@pytest.mark.parametrize(("kind", "value", "en", "ru"), TOLD)
def test_every_kind_of_misfit_has_its_sentence(kind: Any, value: Any, en: str, ru: str) -> None:
    """A value that does not fit is told by what would fit; a developer's own words are told as they are."""
    form = create_model("Form", field=(kind, ...))

    assert [told(form, {"field": value}, lang) for lang in ("en", "ru")] == [{"field": en}, {"field": ru}]


def test_what_is_not_given_is_missing() -> None:
    """A field without a value is told to be missing, not to be wrong."""
    assert told(create_model("Form", field=(int, ...)), {}, "en") == {"field": "this is still missing"}


def sentences(lang: str) -> Iterator[tuple[str, str]]:
    """Yield the names of pydantic's errors, each with what stands under it or under its first word."""
    for name in get_args(ErrorType):
        for key in (name, name.partition("_")[0]):
            if text := table("form_errors", lang).get(key):
                yield name, text
                break


@pytest.mark.parametrize("lang", languages())
def test_every_sentence_belongs_to_an_error(lang: str) -> None:
    """No sentence is written for an error that neither pydantic has nor the application tells by its name."""
    used = {text for _, text in sentences(lang)}
    written = "".join(file.read_text("utf-8") for file in (ROOT / "app").rglob("*.py"))
    others = [key for key, text in table("form_errors", lang).items() if isinstance(text, dict) or text not in used]
    assert [key for key in others if f'"{key}"' not in written and f'"{key}.' not in written] == []


@pytest.mark.parametrize("lang", [one for one in languages() if one != FALLBACK])
def test_no_sentence_is_left_in_english(lang: str) -> None:
    """The error text of a value is in the user's language."""
    of_values = table("form_errors", lang)
    of_files = of_values.pop("yaml")
    assert not [text for text in (*of_values.values(), *of_files.values()) if not letters_of(text, lang)]
