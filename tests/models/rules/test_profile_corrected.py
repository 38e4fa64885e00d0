"""The profile by rules, put right: what is wrong in the last answer, and what is right instead."""

from typing import Any

import pytest

from prompts import table
from tests.support.rules_outcome import PROFILE, Lang
from tests.support.rules_room import Room


@pytest.mark.parametrize(
    ("lang", "lines", "form"),
    [
        ("en", ["no, pilot"], {"experience": "pilot"}),
        ("en", ["no, I'm a pilot"], {"experience": "pilot"}),
        ("en", ["pilot instead of nurse"], {"experience": "pilot"}),
        ("en", ["Python and Ruby", "not Ruby but Go"], {"experience": "nurse", "skills": ["Python", "Go"]}),
        ("ru", ["нет, пилот"], {"experience": "пилот"}),
        ("ru", ["пилот вместо медсестра"], {"experience": "пилот"}),
        ("ru", ["не медсестра, а пилот"], {"experience": "пилот"}),
    ],
)
def test_what_is_wrong_is_put_right(lang: Lang, lines: list[str], form: dict[str, Any]) -> None:
    """ "No, X" and "X instead of Y" put the last answer right, and only that one."""
    room = Room(lang)
    for line in [*PROFILE[lang][:2], *lines]:
        room.says(line)
    assert room.form == form


def test_one_of_several_is_not_guessed() -> None:
    """Of a list nothing is lost when it is not said which item is wrong: the user is told how to say it."""
    room = Room("en")
    for line in PROFILE["en"]:
        room.says(line)
    assert table("rules/sentences", "en")["complaint"] in room.says("no, Rust")
    assert room.form == {"experience": "nurse", "skills": ["Python", "Ruby"]}


@pytest.mark.parametrize(
    ("lang", "text"), [("en", "call centre work"), ("en", "buying and selling"), ("ru", "покупки")]
)
def test_an_answer_that_sounds_alike_is_noted(lang: Lang, text: str) -> None:
    """Words near to those of to-dos are answers all the same."""
    room = Room(lang)
    for line in [*PROFILE[lang][:2], text]:
        room.says(line)
    assert room.form["skills"]
