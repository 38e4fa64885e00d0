"""The profile by rules, put right: what is wrong, what is right instead, and what was never meant for it."""

from typing import Any

import pytest

from prompts import table
from tests.support.rules_outcome import PROFILE, Lang, acted
from tests.support.rules_room import Room


@pytest.mark.parametrize(
    ("lang", "lines", "form"),
    [
        ("en", ["not nurse, pilot"], {"experience": "pilot"}),
        ("en", ["no, not a nurse, a pilot"], {"experience": "pilot"}),
        ("en", ["Python and Ruby", "not Ruby, Go"], {"experience": "nurse", "skills": ["Python", "Go"]}),
        ("en", ["nurse is wrong", "pilot"], {"experience": "pilot"}),
        ("en", ["my experience is wrong", "airline pilot"], {"experience": "airline pilot"}),
        ("ru", ["не медсестра, пилот"], {"experience": "пилот"}),
        ("ru", ["медсестра — это неверно", "пилот"], {"experience": "пилот"}),
        ("ru", ["медсестра неверно", "пилот"], {"experience": "пилот"}),
    ],
)
def test_what_is_wrong_is_put_right(lang: Lang, lines: list[str], form: dict[str, Any]) -> None:
    """A value said to be wrong is replaced at once, or asked for again."""
    room = Room(lang)
    for line in [*PROFILE[lang][:2], *lines]:
        room.says(line)
    assert room.form == form


def test_one_wrong_item_of_several_is_asked_about() -> None:
    """Of a list nothing is lost when one item is wrong: the user is told how to put it right."""
    room = Room("en")
    for line in PROFILE["en"]:
        room.says(line)
    assert table("rules", "en")["complaint"] in room.says("Ruby is wrong")
    assert room.form == {"experience": "nurse", "skills": ["Python", "Ruby"]}


@pytest.mark.parametrize(
    ("lang", "text", "wish"),
    [("en", "buy milk", "add buy milk to my list"), ("ru", "купить молоко", "добавь купить молоко в мой список")],
)
def test_an_errand_is_no_answer(lang: Lang, text: str, wish: str) -> None:
    """What begins like a to-do is not noted in the profile; the user is told what puts it on the list."""
    room = Room(lang)
    for line in PROFILE[lang][:2]:
        room.says(line)
    said = room.says(text)
    assert (wish in said, said.endswith("?"), acted(room)) == (True, True, [])
    room.says(wish)
    assert room.todos == [[wish.split(" ", 1)[1].removesuffix(" to my list").removesuffix(" в мой список"), False]]


@pytest.mark.parametrize(
    ("lang", "text"), [("en", "call centre work"), ("en", "buying and selling"), ("ru", "покупки")]
)
def test_an_answer_that_sounds_alike_is_noted(lang: Lang, text: str) -> None:
    """Words near to those of to-dos are answers all the same."""
    room = Room(lang)
    for line in [*PROFILE[lang][:2], text]:
        room.says(line)
    assert room.form["skills"]
