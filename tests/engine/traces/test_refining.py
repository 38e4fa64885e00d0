"""Wishes that refine the last view: "only those with a high rating", "the second one" of the list just shown."""

from dataclasses import replace
from typing import Annotated, Literal

import pytest
from langchain_core.tools import tool
from pydantic import BaseModel

from agents.events.views import CardList, Entry
from agents.language.identifiers import Opaque
from agents.toolkit.context import Runtime
from agents.toolkit.result import Answer, result
from agents.toolkit.speaker import Speakers
from agents.toolkit.traits import traits
from app.testing import Chat, told
from app.testing.script import Call
from prompts import phrase

HotelId = Annotated[str, Opaque("hotel")]
Lang = Literal["en", "ru"]
HOTELS = {
    "8d1f0c6a": {"en": ("Anchor", 4.1, 60), "ru": ("Якорь", 4.1, 60)},
    "c02b77e5": {"en": ("Old Mill", 4.8, 140), "ru": ("Старая мельница", 4.8, 140)},
    "71ae93d4": {"en": ("Harbour Inn", 3.2, 45), "ru": ("Гавань", 3.2, 45)},
}


class Hotel(BaseModel):
    """One hotel."""

    id: HotelId
    name: str


@traits(result={"type": "array", "items": Hotel.model_json_schema()}, view="cards")
@tool(response_format="content_and_artifact")
async def find_hotels(runtime: Runtime, least_rating: float = 0, only: list[HotelId] | None = None) -> Answer:
    """Find hotels, with at least a rating, or only some of those that are known."""
    lang: Lang = "ru" if runtime.state["lang"] == "ru" else "en"
    fitting = [id for id in only or HOTELS if HOTELS[id][lang][1] >= least_rating]
    return result([Hotel(id=id, name=HOTELS[id][lang][0]) for id in fitting], view=shown(lang, *fitting))


def shown(lang: Lang, *ids: str) -> CardList:
    """Return the cards of some hotels as the user sees them."""
    cards = ((id, *HOTELS[id][lang]) for id in ids)
    entries = [Entry(name, f"★ {rating}, {price} EUR", id=id) for id, name, rating, price in cards]
    return CardList(title={"en": "Hotels", "ru": "Гостиницы"}[lang], entries=entries)


@pytest.fixture(autouse=True)
def hotels(chat: Chat) -> None:
    """Give the supervisor hotels to find."""
    lead = chat.speakers.supervisor
    chat.speakers = Speakers(replace(lead, tools=[*lead.tools, find_hotels]), chat.speakers.dialogs)


def prompted(chat: Chat) -> str:
    """Return the end of the prompt of the first model call after the list was shown."""
    return str(chat.script.asked[2].messages[-1].text)


@pytest.mark.parametrize(
    ("lang", "text", "lines"),
    [
        (
            "en",
            "only those with a high rating",
            "Hotels:\n1. Anchor — ★ 4.1, 60 EUR\n2. Old Mill — ★ 4.8, 140 EUR\n3. Harbour Inn — ★ 3.2, 45 EUR",
        ),
        (
            "ru",
            "только с высоким рейтингом",
            "Гостиницы:\n1. Якорь — ★ 4.1, 60 EUR\n2. Старая мельница — ★ 4.8, 140 EUR\n3. Гавань — ★ 3.2, 45 EUR",
        ),
    ],
)
async def test_those_with_a_high_rating(chat: Chat, lang: Lang, text: str, lines: str) -> None:
    """The model reads each number with its rating as the user saw them, and a narrower call shows what is left."""
    narrower = Call("find_hotels", {"least_rating": 4})
    chat.expects(supervisor=[Call("find_hotels"), "Here.", narrower, "These."])
    await chat.says({"en": "Hotels?", "ru": "Какие есть гостиницы?"}[lang], text, lang=lang)

    assert phrase("on_screen", lang, screen=lines) in prompted(chat)
    views = [event for event in chat.events if isinstance(event, CardList)]
    assert views[-1].numbered() == shown(lang, *list(HOTELS)[:2]).numbered()


@pytest.mark.parametrize(("lang", "text"), [("en", "the second one, please"), ("ru", "покажи второй")])
async def test_the_second_one(chat: Chat, lang: Lang, text: str) -> None:
    """A number on the screen is the number that a tool takes, and the hotel behind it is shown."""
    chat.expects(supervisor=[Call("find_hotels"), "Here.", Call("find_hotels", {"only": [2]}), "This one."])
    await chat.says({"en": "Hotels?", "ru": "Какие есть гостиницы?"}[lang], text, lang=lang)

    name = HOTELS["c02b77e5"][lang][0]
    assert f"\n2. {name} — ★ 4.8, 140 EUR\n" in prompted(chat)
    views = [event for event in chat.events if isinstance(event, CardList)]
    assert [entry.label for entry in views[-1].entries] == [name]


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
