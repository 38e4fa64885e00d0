"""The profile by rules, put right: what names no field changes nothing."""

import pytest

from tests.support.rules_outcome import PROFILE, Lang
from tests.support.rules_room import Room


@pytest.mark.parametrize(
    "text",
    [
        "no, Rust",
        "not Ruby but Rust",
        "Rust instead of Ruby",
        "replace Ruby with Rust",
        "I'm a pilot",
        "I'm a doctor, not a nurse",
    ],
)
def test_what_is_wrong_is_not_guessed(text: str) -> None:
    """A value is put right by naming its field; other corrections change nothing, and nothing is lost."""
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
