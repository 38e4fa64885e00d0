"""Reminders by rules that take several turns: what is asked for, and what is put right."""

import pytest

from tests.rules.acting import Lang
from tests.talk_room import Room


@pytest.mark.parametrize(
    ("lang", "lines", "reminders"),
    [
        ("en", ["remind me", "tomorrow", "to call mom"], [["call mom", "tomorrow"]]),
        ("en", ["remind me", "to call mom", "tomorrow at 9"], [["call mom", "tomorrow at 9"]]),
        ("en", ["could you remind me", "tomorrow at 9 to call mom"], [["call mom", "tomorrow at 9"]]),
        ("en", ["remind me", "call mom in an hour"], [["call mom", "in an hour"]]),
        ("en", ["remind me", "never mind"], []),
        ("ru", ["напомни", "завтра", "позвонить маме"], [["позвонить маме", "завтра"]]),
        ("ru", ["напомни мне", "позвонить маме", "завтра в 9"], [["позвонить маме", "завтра в 9"]]),
        ("ru", ["можешь напомнить?", "завтра в 9 позвонить маме"], [["позвонить маме", "завтра в 9"]]),
        ("ru", ["напомни", "неважно"], []),
    ],
)
def test_a_bare_wish_is_asked_of_what_and_when(lang: Lang, lines: list[str], reminders: list[list[str]]) -> None:
    """Who only says "remind me" is asked for both, and neither the time nor the matter becomes a to-do."""
    room = Room(lang)
    for line in lines:
        room.says(line)
    assert (room.reminders, room.todos) == (reminders, [])
