"""The list on the screen by rules: what is picked from it by what it shows, and what cannot be told."""

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from agents.models.rules import RulesModel
from prompts import table
from tests.support.rules_outcome import Lang

HOTELS = ["1. Anchor — ★ 4.1, 60 EUR", "2. Old Mill — ★ 4.8, 1,140 EUR", "3. Harbour Inn — ★ 3.2, 45 EUR"]
TABLE = ["1. Имя: Якорь, Рейтинг: 8,1, Цена: 600 руб.", "2. Имя: Мельница, Рейтинг: 6,4, Цена: 1 400 руб."]
PICKED: list[tuple[Lang, str, list[str], list[int]]] = [
    ("en", "only those with a high rating", HOTELS, [1, 2]),
    ("en", "show me only the ones with high ratings, please", HOTELS, [1, 2]),
    ("en", "the cheaper ones", HOTELS, [1, 3]),
    ("en", "which one is the cheapest?", HOTELS, [3]),
    ("en", "the most expensive one", HOTELS, [2]),
    ("en", "the best rated one", HOTELS, [2]),
    ("en", "only the highly rated ones", TABLE, [1]),
    ("ru", "только с высоким рейтингом", HOTELS, [1, 2]),
    ("ru", "покажи те, что подешевле", HOTELS, [1, 3]),
    ("ru", "самый дешёвый", HOTELS, [3]),
    ("ru", "оставь только дорогие", TABLE, [2]),
    ("ru", "с самым высоким рейтингом", TABLE, [1]),
]


def answered(lang: Lang, text: str, *screen: list[str]) -> AIMessage:
    """Return what the supervisor says to a text with these lists on the screen."""
    scene = {"role": "supervisor", "lang": lang, "screen": list(screen)}
    closing = SystemMessage("Go on.", additional_kwargs={"scene": scene})
    return RulesModel().invoke([SystemMessage("You lead."), HumanMessage(text), closing])


@pytest.mark.parametrize(("lang", "text", "screen", "numbers"), PICKED)
def test_what_is_wanted_of_the_list_is_picked(lang: Lang, text: str, screen: list[str], numbers: list[int]) -> None:
    """Entries are picked by the fact they show, and keep the numbers that the user knows them by."""
    said = str(answered(lang, text, ["1. milk", "2. bread"], screen).text)
    assert said.splitlines()[1:] == [screen[number - 1] for number in numbers]


@pytest.mark.parametrize(("lang", "text"), [("en", "only those with a high rating"), ("ru", "подешевле")])
@pytest.mark.parametrize("screen", [[], [["1. milk", "2. bread"]], [["1. Tea — 3 EUR", "2. Rum — 9 $"]]])
def test_what_no_list_shows_is_said(lang: Lang, text: str, screen: list[list[str]]) -> None:
    """Without ratings or prices in one unit on the screen the user is told what could be done instead."""
    assert answered(lang, text, *screen).text == table("rules", lang)["refined"]["unknown"]


@pytest.mark.parametrize(("lang", "text"), [("en", "cheaper hotels in Berlin"), ("ru", "дешёвые гостиницы в Берлине")])
def test_another_search_is_not_picked(lang: Lang, text: str) -> None:
    """Whoever names something else does not speak of the list on the screen."""
    assert HOTELS[2] not in answered(lang, text, HOTELS).text


def test_none_fits() -> None:
    """Where nothing is like what is wanted, that is the answer."""
    screen = ["1. Anchor — ★ 2.1", "2. Old Mill — ★ 2.8"]
    assert answered("en", "only those with a high rating", screen).text == table("rules", "en")["refined"]["none"]
