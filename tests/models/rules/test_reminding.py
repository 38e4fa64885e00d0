"""Reminders by rules that take several turns: what is asked for, and what is put right."""

import pytest

from tests.support.rules_outcome import Lang
from tests.support.rules_room import Room


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


@pytest.mark.parametrize(
    ("lang", "lines", "reminders"),
    [
        ("en", ["set an alarm for 7", "no, at 8"], [["Time is up", "at 8"]]),
        ("en", ["set an alarm for 7", "no, 8"], [["Time is up", "at 8"]]),
        ("en", ["set an alarm for 7", "not at 7 but at 8"], [["Time is up", "at 8"]]),
        ("en", ["remind me to call mom tomorrow", "sorry, I meant on Friday"], [["call mom", "on Friday"]]),
        (
            "en",
            ["wake me up at 6", "set an alarm for 7", "make it at 8"],
            [["Time is up", "at 6"], ["Time is up", "at 8"]],
        ),
        ("ru", ["поставь будильник на 7", "нет, в 8"], [["Time is up", "в 8"]]),
        ("ru", ["поставь будильник на 7", "не в 7, а в 8"], [["Time is up", "в 8"]]),
        ("ru", ["напомни завтра позвонить маме", "нет, лучше в пятницу"], [["позвонить маме", "в пятницу"]]),
    ],
)
def test_a_time_is_put_right(lang: Lang, lines: list[str], reminders: list[list[str]]) -> None:
    """A time after "no" moves what was just set."""
    room = Room(lang)
    for line in lines:
        room.says(line)
    assert (room.reminders, room.todos) == (reminders, [])


def test_no_time_is_put_right_of_what_is_no_reminder() -> None:
    """After a to-do was added, a time corrects none of the reminders."""
    room = Room(reminders=[["tea", "at 5"]])
    for line in ("show my reminders", "add milk to my list", "no, at 8"):
        room.says(line)
    assert room.reminders == [["tea", "at 5"]]
