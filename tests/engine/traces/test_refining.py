"""Wishes that refine the last view: "only those with a high rating", "the second one" of the list just shown."""

from typing import Annotated

import pytest
from langchain_core.tools import tool
from pydantic import BaseModel

from agents.events.views import CardList, Entry
from agents.language.identifiers import Opaque
from agents.state import SUPERVISOR
from agents.toolkit.context import Runtime
from agents.toolkit.result import Answer, result
from agents.toolkit.traits import traits
from app.testing import Chat, told
from app.testing.script import Call
from prompts import phrase
from tests.support.changed_speakers import changed

HotelId = Annotated[str, Opaque("hotel")]
HOTELS = {
    "8d1f0c6a": ("Anchor", 4.1, 60),
    "c02b77e5": ("Old Mill", 4.8, 140),
    "71ae93d4": ("Harbour Inn", 3.2, 45),
}
LIST = "Hotels:\n1. Anchor — ★ 4.1, 60 EUR\n2. Old Mill — ★ 4.8, 140 EUR\n3. Harbour Inn — ★ 3.2, 45 EUR"


class Hotel(BaseModel):
    """One hotel."""

    id: HotelId
    name: str


@traits(result={"type": "array", "items": Hotel.model_json_schema()}, view="cards")
@tool(response_format="content_and_artifact")
async def find_hotels(runtime: Runtime, least_rating: float = 0, only: list[HotelId] | None = None) -> Answer:
    """Find hotels, with at least a rating, or only some of those that are known."""
    fitting = {id: HOTELS[id] for id in only or HOTELS if HOTELS[id][1] >= least_rating}
    entries = [Entry(name, f"★ {rating}, {price} EUR", id=id) for id, (name, rating, price) in fitting.items()]
    return result([Hotel(id=id, name=HOTELS[id][0]) for id in fitting], view=CardList(title="Hotels", entries=entries))


@pytest.fixture(autouse=True)
def hotels(chat: Chat) -> None:
    """Give the supervisor hotels to find."""
    chat.speakers = changed(chat.speakers, SUPERVISOR, find_hotels)


async def test_the_second_one(chat: Chat) -> None:
    """The model reads the list as the user saw it; a number on the screen is the number that a tool takes."""
    chat.expects(supervisor=[Call("find_hotels"), "Here.", Call("find_hotels", {"only": [2]}), "This one."])
    await chat.says("Hotels?", "the second one, please")

    assert phrase("on_screen", "en", screen=LIST) in chat.script.asked[2].messages[-1].text
    views = [event for event in chat.events if isinstance(event, CardList)]
    assert [entry.label for entry in views[-1].entries] == ["Old Mill"]


async def test_the_last_list_stands_last(chat: Chat) -> None:
    """After a refinement the prompt ends with the shorter list, numbered anew; no other list has the same numbers."""
    narrower = Call("find_hotels", {"least_rating": 4.5})
    chat.expects(supervisor=[Call("find_hotels"), "Here.", narrower, "This one.", "It is a mill."])
    trace = await chat.says("Hotels?", "only those with a high rating", "what kind of place is the first one?")

    screen = chat.script.asked[-1].messages[-1].text
    assert "Hotels:\n1. Old Mill — ★ 4.8, 140 EUR" in screen
    assert "3. Harbour Inn" not in screen
    assert trace.endswith(
        told("""
            user: what kind of place is the first one?
            supervisor: It is a mill.
        """)
    )
