"""Filling in a form: what people write for values, what does not go together, and what is no value at all."""

import datetime
from enum import Enum
from functools import partial
from typing import Literal
from zoneinfo import ZoneInfo

import pytest
from langchain_core.tools import tool
from pydantic import AliasChoices, BaseModel, Field, model_validator

from agents.state.speaker_state import Pending
from agents.toolkit.questions import ask, fits, worded
from agents.toolkit.questions.field_values import fitting
from agents.toolkit.questions.form import FormFields, filled, stored_fields
from agents.toolkit.result import Answer, request
from agents.toolkit.traits import traits
from app.testing import Chat
from app.testing.script import Call, Line
from tests.support.changed_speakers import changed

pytestmark = pytest.mark.needs("planner")

BEGIN: list[Line] = [Call("plan_things", {"brief": "travel"})]


class Colour(Enum):
    """A colour."""

    RED = "red"
    BLUE = "blue"


class Trip(BaseModel):
    """Values of every kind."""

    seats: int = Field(alias="number-of-seats")
    day: datetime.date
    colour: Colour
    travel_class: Literal["First", "Second"]
    window: bool
    stops: list[str] | None = None


class Stay(BaseModel):
    """Nights that have to go together."""

    first: int
    last: int

    @model_validator(mode="after")
    def ordered(self) -> "Stay":
        """Refuse a stay that ends before it begins."""
        if self.last < self.first:
            raise ValueError("the last night is before the first")
        return self


class Delivery(BaseModel):
    """An address, and what need not be told."""

    street: str = Field(validation_alias=AliasChoices("Street-Name", "road"))
    floor: int = Field(default=0, alias="Floor")
    rings: list[str] = Field(default_factory=lambda: ["Ann"])


class Extra(BaseModel):
    """Nothing that has to be told."""

    note: str = "-"


class Window(BaseModel):
    """One answer that is yes or no."""

    window: bool


class Note(BaseModel):
    """One free text."""

    note: str


class Number(BaseModel):
    """One number."""

    number: int


@pytest.mark.parametrize(
    ("field", "text", "value"),
    [
        ("seats", "3", 3),
        ("day", "2026-05-01", "2026-05-01"),
        ("colour", "Red", "red"),
        ("travel_class", "first", "First"),
        ("window", "да", True),
        ("window", "no thanks", False),
        ("stops", "Bern, Olten", ["Bern", "Olten"]),
        ("stops", '{"stops": ["Bern"], "other": 1}', ["Bern"]),
    ],
)
def test_values_are_taken_as_people_write_them(field: str, text: str, value: object) -> None:
    """Case, yes and no in any language and commas are understood; unknown field names are left out."""
    read = partial(fitting, Trip, "", "en", now=datetime.datetime.now(ZoneInfo("UTC")))
    assert filled(Trip, FormFields({field: field}), text, read, sure=False, without=()) == {field: value}


def asking(chat: Chat, form: type[BaseModel]) -> None:
    """Let the planner have a tool with a form, and the user be before it."""

    @traits(kind="breaker", form=form)
    @tool(response_format="content_and_artifact")
    async def ask_it(first: int = 0, last: int = 0) -> Answer:
        """Let the user fill in something."""
        return request("Please fill in.")

    chat.speakers = changed(chat.speakers, "planner", tools=[ask_it])


async def test_values_that_do_not_go_together_are_asked_for_again(chat: Chat) -> None:
    """A form that refuses its values as a whole asks for all of them, and the conversation goes on."""
    asking(chat, Stay)
    chat.expects(supervisor=BEGIN, planner=[Call("ask_it"), "Booked."])
    trace = await chat.says("Book it", "first: 5\nlast: 3", "first: 3\nlast: 5")

    assert "the last night is before the first" in trace
    assert trace.endswith('planner.ask_it() = {"first":3,"last":5}\nplanner: Booked.')


async def test_a_call_that_gives_every_value_leaves_the_form_to_the_user(chat: Chat) -> None:
    """A question without an open field names nothing that could be answered."""
    asking(chat, Stay)
    chat.expects(supervisor=BEGIN, planner=[Call("ask_it", {"first": 1, "last": 2}), "Booked."])
    trace = await chat.says("Book it", "first: 3\nlast: 5")

    assert "Please fill in. [first | last]" in trace
    assert trace.endswith('= {"first":3,"last":5}\nplanner: Booked.')


async def test_no_is_an_answer_where_yes_is_one(chat: Chat) -> None:
    """ "No" cancels a form, but not where it is a value."""
    asking(chat, Window)
    chat.expects(supervisor=BEGIN, planner=[Call("ask_it"), "An aisle seat."])

    assert 'planner.ask_it() = {"window":false}' in await chat.says("Book it", "no")


@pytest.mark.parametrize(
    "texts",
    [
        ["street: Elm Street 5\nfloor: \nrings:"],
        ["street: Elm Street 5", "Leave it out."],
        ["street: Elm Street 5", "пропустить"],
        ["floor: skip", "rings:", "Elm Street 5"],
        ['{"road": "Elm Street 5", "Floor": "", "rings": " "}'],
        ["street-name: Elm Street 5\nfloor: 0\nrings: Ann"],
    ],
)
async def test_what_has_a_default_may_be_left_out(chat: Chat, texts: list[str]) -> None:
    """ "Skip", or nothing behind a label, takes the default; a field is known by its aliases, too."""
    asking(chat, Delivery)
    chat.expects(supervisor=BEGIN, planner=[Call("ask_it"), "Noted."])
    trace = await chat.says("Send it", *texts)

    assert 'planner.ask_it() = {"street":"Elm Street 5","floor":0,"rings":["Ann"]}' in trace


@pytest.mark.parametrize("text", ["skip", "note:", "note: skip"])
async def test_a_form_may_be_left_out_as_a_whole(chat: Chat, text: str) -> None:
    """If every field has a default, skipping answers the question."""
    asking(chat, Extra)
    chat.expects(supervisor=BEGIN, planner=[Call("ask_it"), "Noted."])

    assert 'planner.ask_it() = {"note":"-"}' in await chat.says("Send it", text)


async def test_what_has_no_default_is_not_left_out(chat: Chat) -> None:
    """Skipping leaves out optional fields alone; a required field stays open."""
    asking(chat, Delivery)
    chat.expects(supervisor=BEGIN, planner=[Call("ask_it")])

    assert (await chat.says("Send it", "skip")).endswith("breaker: Thank you. What is still missing: [street]")


async def test_what_does_not_fit_an_alias_is_asked_for_again(chat: Chat) -> None:
    """A value that is given by another name is complained of, and asked for, by the field's own."""
    asking(chat, Delivery)
    chat.expects(supervisor=BEGIN, planner=[Call("ask_it")])
    trace = await chat.says("Пришлите", "Floor: high", lang="ru")

    assert "breaker: Так не подходит (floor: нужно целое число, например 12)." in trace
    assert trace.endswith("[street | floor | rings]")


@pytest.mark.parametrize(
    ("lang", "hint"),
    [
        ("en", "You can leave out: floor, rings. Say “skip” for that.\nAnswer with a line for each:"),
        ("ru", "Можно не указывать: floor, rings. Тогда напишите «пропустить».\nОтветьте по строке на каждый пункт:"),
    ],
)
def test_the_hint_says_what_may_be_left_out(lang: str, hint: str) -> None:
    """A question names the fields that have a default."""
    pending = Pending(
        call="1",
        speaker="planner",
        tool="ask_it",
        args={},
        kind="breaker",
        prompt="Where to?",
        lang=lang,
        options=[],
        url="",
        back="",
        web_app=False,
        filled={},
        skipped=[],
        answers=[],
        behind=[],
        more=False,
        client=None,
        alone=False,
        **stored_fields(Delivery),
    )
    assert worded(ask(pending, lang), lang) == f"Where to?\n{hint}\nstreet:\nfloor:\nrings:"
    assert fits(pending, "skip", lang)
    assert fits(pending, "road: Elm Street 5", lang)
    assert not fits({**pending, "skipped": ["floor", "rings"], "filled": {"street": "Elm Street 5"}}, "skip", lang)


async def test_brackets_without_end_are_no_form(chat: Chat) -> None:
    """JSON that is nested too deep is a text like any other."""
    asking(chat, Note)
    chat.expects(supervisor=BEGIN, planner=[Call("ask_it"), "Noted."])

    assert (await chat.says("Write it down", '{"note":' + "[" * 3900)).endswith("planner: Noted.")


@pytest.mark.parametrize("form", [Note, Number])
@pytest.mark.parametrize("text", ["Never mind!", "Let's talk about something else please"])
async def test_a_change_of_subject_is_no_value(chat: Chat, form: type[BaseModel], text: str) -> None:
    """A message plainly for another dialog leaves the form, also one that would take any text."""
    asking(chat, form)
    chat.expects(supervisor=BEGIN, observer=["stay"], planner=[Call("ask_it"), "Fine."])

    assert "planner.ask_it() !" in await chat.says("Write it down", text)


@pytest.mark.parametrize("form", [Note, Number])
async def test_a_shortcut_is_no_value(chat: Chat, form: type[BaseModel]) -> None:
    """A message that a tool serves alone fills nothing, and the form asks again, also one that would take any text."""
    asking(chat, form)
    chat.finds(current_time=["It is nine."])
    chat.expects(supervisor=BEGIN, planner=[Call("ask_it")])
    trace = await chat.says("Write it down", "what time is it")

    assert trace.count("breaker: Please fill in.") == 2
    assert "planner.ask_it()" not in trace


async def test_a_sentence_is_no_number(chat: Chat) -> None:
    """A sentence where a number is wanted is not met with the same complaint again and again."""
    asking(chat, Number)
    chat.expects(supervisor=BEGIN, observer=["stay"], planner=[Call("ask_it"), "Oh."])

    assert (await chat.says("Count", "my neighbour has just bought a boat")).endswith("planner: Oh.")
