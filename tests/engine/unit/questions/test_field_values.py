"""Values of forms as people write them, in English and Russian, for the forms of tools and of dialogs."""

from collections.abc import Iterator
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Literal
from zoneinfo import ZoneInfo

import pytest
from langchain_core.tools import tool
from pydantic import BaseModel

from agents.toolkit.questions.field_values import fitting
from agents.toolkit.result import Answer, request
from agents.toolkit.speaker import Speaker, Speakers
from agents.toolkit.traits import traits
from app.extensions import Extensions, use
from app.testing import Chat, told
from app.testing.script import Call, Line

ZONE = ZoneInfo("Europe/Oslo")
MONDAY = datetime(2026, 11, 23, 14, tzinfo=ZONE)
BEGIN: list[Line] = [Call("plan_things", {"brief": "travel"})]


class Booking(BaseModel):
    """A field of each kind."""

    day: date | None = None
    at: time | None = None
    until: datetime | None = None
    people: int | None = None
    price: float | None = None
    deposit: Decimal | None = None
    room: Literal["single", "double"] | None = None
    dates: list[date] = []
    extras: list[Literal["breakfast", "parking"]] = []
    note: str | None = None


TEXTS = {
    "en": """
        [room.values]
        double = ["twin", "for two"]
        [extras.values]
        parking = ["a place for the car"]
    """,
    "ru": """
        [room.values]
        double = ["двухместный", "на двоих"]
        [extras.values]
        breakfast = ["завтрак"]
        parking = ["стоянка"]
    """,
}


@pytest.fixture
def texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let there be texts of the forms `book` and `planner`."""
    for lang, text in TEXTS.items():
        for name in ("planner/forms/book.toml", "planner/forms/planner.toml"):
            path = tmp_path / "own" / "prompts" / lang / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
    monkeypatch.setenv("EXTENSIONS", str(tmp_path / "own"))
    use(Extensions(_env_file=None))
    yield
    use(Extensions(_env_file=None, extensions=()))


FRIDAY, MAY = date(2026, 11, 27), date(2027, 5, 31)
TABLE = [
    ("en", "day", "Friday", FRIDAY),
    ("en", "day", "on friday", FRIDAY),
    ("en", "day", "today", date(2026, 11, 23)),
    ("en", "day", "tomorrow", date(2026, 11, 24)),
    ("en", "day", "31 May", MAY),
    ("en", "day", "May 31st, 2027", MAY),
    ("en", "day", "5 May 1990", date(1990, 5, 5)),
    ("en", "at", "half past six in the evening", time(18, 30)),
    ("en", "at", "6pm", time(18)),
    ("en", "until", "tomorrow at 9", datetime(2026, 11, 24, 9, tzinfo=ZONE)),
    ("en", "people", "three", 3),
    ("en", "people", "twenty-five people", 25),
    ("en", "people", "for 12 people", 12),
    ("en", "people", "1,200", 1200),
    ("en", "price", "$1,200.50", 1200.5),
    ("en", "price", "12.345", 12.345),
    ("en", "price", "-3", -3.0),
    ("en", "deposit", "1 200,50 €", Decimal("1200.50")),
    ("en", "deposit", "1.234.567 EUR", Decimal(1234567)),
    ("en", "room", "Twin", "double"),
    ("en", "room", "for two.", "double"),
    ("en", "dates", "Friday; 31 May", [FRIDAY, MAY]),
    ("en", "extras", "breakfast, a place for the car", ["breakfast", "parking"]),
    ("en", "note", "12 on Friday, please", "12 on Friday, please"),
    ("ru", "day", "в пятницу", FRIDAY),
    ("ru", "day", "сегодня", date(2026, 11, 23)),
    ("ru", "day", "31 мая", MAY),
    ("ru", "day", "5 мая 1990", date(1990, 5, 5)),
    ("ru", "at", "в 9 вечера", time(21)),
    ("ru", "until", "завтра в 9", datetime(2026, 11, 24, 9, tzinfo=ZONE)),
    ("ru", "people", "три", 3),
    ("ru", "people", "двадцать пять человек", 25),
    ("ru", "price", "1.200", 1200.0),
    ("ru", "price", "12,5", 12.5),
    ("ru", "deposit", "1 200,50 руб.", Decimal("1200.50")),
    ("ru", "room", "на двоих", "double"),
    ("ru", "dates", "в пятницу, 31 мая", [FRIDAY, MAY]),
    ("ru", "extras", "завтрак, стоянка", ["breakfast", "parking"]),
]


@pytest.mark.usefixtures("texts")
@pytest.mark.parametrize(("lang", "field", "text", "value"), TABLE)
def test_a_value_is_read_as_people_write_it(lang: str, field: str, text: str, value: object) -> None:
    """Dates, times, numbers, money, lists and choices become what the field wants."""
    values = fitting(Booking, "book", lang, {field: text}, MONDAY)
    assert getattr(Booking.model_validate(values), field) == value


@pytest.mark.usefixtures("texts")
@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("people", "add 12 eggs"),
        ("people", "12 or 13"),
        ("people", "many"),
        ("day", "when the moon is full"),
        ("day", "yesterday's news"),
        ("room", "the cheap one"),
        ("price", "1.2.3.4 and 5"),
    ],
)
def test_what_is_not_understood_stays_as_it_is(field: str, text: str) -> None:
    """The form refuses it then; nothing is guessed."""
    assert fitting(Booking, "book", "en", {field: text}, MONDAY) == {field: text}


def asking(chat: Chat, form: type[BaseModel]) -> None:
    """Let the planner have a tool with a form."""

    @traits(kind="breaker", form=form)
    @tool(response_format="content_and_artifact")
    async def book() -> Answer:
        """Let the user fill in a booking."""
        return request("What shall I book?")

    planner = Speaker(name="planner", tool="plan_things", description="Used for plans.", tools=[book])
    chat.speakers = Speakers(chat.speakers.supervisor, {"planner": planner})


class Visit(BaseModel):
    """A form of a tool: two fields to be asked for, and one whose default holds."""

    day: date
    room: Literal["single", "double"]
    people: int = 2


class Stay(BaseModel):
    """The same for a dialog."""

    day: date | None = None
    room: Literal["single", "double"] | None = None
    people: int = 2


@pytest.mark.needs("planner")
@pytest.mark.usefixtures("texts")
@pytest.mark.parametrize(
    ("lang", "first", "wrong", "then"),
    [
        ("en", "day: 31 May 2090\nroom: cheap", "room: one of these is needed: single, double", "room: twin"),
        ("ru", "day: 31 мая 2090\nroom: подешевле", "room: нужно что-то из этого: single, double", "room: на двоих"),
    ],
)
async def test_the_form_of_a_tool(chat: Chat, lang: str, first: str, wrong: str, then: str) -> None:
    """It reads what people write, says what is wrong in their words, and does not ask for what has a default."""
    asking(chat, Visit)
    chat.expects(supervisor=BEGIN, planner=[Call("book", {}), "Booked."])
    await chat.says("I want to travel", lang=lang)
    assert wrong in await chat.says(first)
    trace = await chat.says(then)
    assert '{"day":"2090-05-31","room":"double","people":2}' in trace
    assert trace.endswith("planner: Booked.")


@pytest.mark.needs("planner")
@pytest.mark.usefixtures("texts")
async def test_the_form_of_a_dialog(chat: Chat) -> None:
    """A model's values in the user's words are read in the same way; the model reads which value is wrong."""
    planner = Speaker(name="planner", tool="plan_things", description="Used for plans.", form=Stay)
    chat.speakers = Speakers(chat.speakers.supervisor, {"planner": planner})
    wrong = Call("fill_form", {"room": "cheap"})
    right = Call("fill_form", {"day": "31 May 2090", "room": "twin"})
    chat.expects(supervisor=BEGIN, planner=[wrong, right, "Noted."])

    assert told("""
        user: A room for the 31st of May, please
        supervisor -> planner
        planner.fill_form(room='cheap') ! room: one of these is needed: single, double
        planner.fill_form(day='31 May 2090', room='twin') = Filled: day, room. Missing: -.
        planner: Noted.
    """) == await chat.says("A room for the 31st of May, please")
    assert (await chat.state())["forms"]["planner"] == {"day": "2090-05-31", "room": "double"}
