"""Filling in a form: what people write for values, what does not go together, and what is no value at all."""

import datetime
from dataclasses import replace
from enum import Enum
from typing import Literal

import pytest
from langchain_core.tools import tool
from pydantic import BaseModel, Field, model_validator

from agents.filling import filled
from agents.models.script import Call, Line
from agents.speaker import Speakers
from agents.tools.outcome import Answer, request
from agents.tools.traits import traits
from tests.conftest import Chat

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
    """Case, yes and no in any language and commas are understood; what no field is called is left out."""
    assert filled(Trip, {field: field}, text, sure=False) == {field: value}


def asking(chat: Chat, form: type[BaseModel]) -> None:
    """Let the planner have a tool with a form, and the user be before it."""

    @traits(kind="breaker", form=form)
    @tool(response_format="content_and_artifact")
    async def ask_it() -> Answer:
        """Let the user fill in something."""
        return request("Please fill in.")

    planner = replace(chat.speakers.dialogs["planner"], tools=[ask_it])
    chat.speakers = Speakers(chat.speakers.supervisor, {**chat.speakers.dialogs, "planner": planner})


async def test_values_that_do_not_go_together_are_asked_for_again(chat: Chat) -> None:
    """A form that refuses its values as a whole asks for all of them, and the conversation goes on."""
    asking(chat, Stay)
    chat.expects(supervisor=BEGIN, planner=[Call("ask_it"), "Booked."])
    trace = await chat.says("Book it", "first: 5\nlast: 3", "first: 3\nlast: 5")

    assert "the last night is before the first" in trace
    assert trace.endswith('planner.ask_it() = {"first":3,"last":5}\nplanner: Booked.')


async def test_no_is_an_answer_where_yes_is_one(chat: Chat) -> None:
    """ "No" cancels a form, but not where it is a value."""
    asking(chat, Window)
    chat.expects(supervisor=BEGIN, planner=[Call("ask_it"), "An aisle seat."])

    assert 'planner.ask_it() = {"window":false}' in await chat.says("Book it", "no")


async def test_brackets_without_end_are_no_form(chat: Chat) -> None:
    """JSON that is nested too deep is a text like any other."""
    asking(chat, Note)
    chat.expects(supervisor=BEGIN, planner=[Call("ask_it"), "Noted."])

    assert (await chat.says("Write it down", '{"note":' + "[" * 3900)).endswith("planner: Noted.")


@pytest.mark.parametrize("form", [Note, Number])
@pytest.mark.parametrize("text", ["Never mind!", "Let's talk about something else please"])
async def test_a_change_of_subject_is_no_value(chat: Chat, form: type[BaseModel], text: str) -> None:
    """What plainly is for somebody else leaves the form, also one that would take any text."""
    asking(chat, form)
    chat.expects(supervisor=BEGIN, observer=["stay"], planner=[Call("ask_it"), "Fine."])

    assert "planner.ask_it() !" in await chat.says("Write it down", text)


@pytest.mark.parametrize("form", [Note, Number])
async def test_a_shortcut_is_no_value(chat: Chat, form: type[BaseModel]) -> None:
    """What a tool serves alone fills in nothing, and the form is asked for again, also one that would take any text."""
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
