"""The profile by rules, put right: what is wrong in the last answer, and what is right instead."""

from typing import Any

import pytest

from tests.support.rules_outcome import PROFILE, Lang
from tests.support.rules_room import Room


@pytest.mark.parametrize(
    ("lang", "lines", "form"),
    [
        ("en", ["pilot instead of nurse"], {"experience": "pilot"}),
        ("en", ["Python and Ruby", "not Ruby but Go"], {"experience": "nurse", "skills": ["Python", "Go"]}),
        ("ru", ["пилот вместо медсестра"], {"experience": "пилот"}),
        ("ru", ["не медсестра, а пилот"], {"experience": "пилот"}),
    ],
)
def test_what_is_wrong_is_put_right(lang: Lang, lines: list[str], form: dict[str, Any]) -> None:
    """ "X instead of Y" puts one value in place of another that a field holds, and touches nothing else."""
    room = Room(lang)
    for line in [*PROFILE[lang][:2], *lines]:
        room.says(line)
    assert room.form == form


@pytest.mark.parametrize("text", ["no, Rust", "not Go but Rust", "Ruby is wrong", "I'm a pilot"])
def test_what_is_wrong_is_not_guessed(text: str) -> None:
    """Nothing is lost when it is not said which value is wrong, or when a field has one already."""
    room = Room("en")
    for line in [*PROFILE["en"], text]:
        room.says(line)
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
