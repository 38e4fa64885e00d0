"""A moment that a correction moves."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from agents.language.schedule.parser import moment
from dialogs.planner.repeat_wording import worded
from dialogs.planner.reschedule import moved

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 20, 10, tzinfo=BERLIN)
"""A Friday at ten."""


@pytest.mark.parametrize(
    ("former", "text", "expected"),
    [
        ("10 minutes", "15", "in 15 minutes, at 10:15 am"),
        ("10 minutes", "at 15", "in 15 minutes, at 10:15 am"),
        ("2 hours", "3", "today at 1 pm"),
        ("10 minutes", "20 minutes", "in 20 minutes, at 10:20 am"),
        ("10 minutes", "5 minutes later", "in 15 minutes, at 10:15 am"),
        ("tomorrow at 7 pm", "8", "tomorrow at 8 pm"),
        ("tomorrow at 7 pm", "half past eight", "tomorrow at 8:30 pm"),
        ("tomorrow at 7 pm", "at 8 am", "tomorrow at 8 am"),
        ("tomorrow at 7 pm", "on Monday at 6", "on Monday at 6 pm"),
        ("tomorrow at 7 am", "at 8", "tomorrow at 8 am"),
        ("tomorrow at 3 pm", "on Monday at 9", "on Monday at 9 am"),
        ("tomorrow at 3 pm", "on Monday at 4", "on Monday at 4 pm"),
        ("in 2 weeks", "by a day", "on Saturday, 5 December at 10 am"),
        ("in 2 weeks", "a week", "on Friday, 11 December at 10 am"),
        ("today at 7 pm", "at 9 am", None),
    ],
)
def test_a_correction_keeps_what_it_does_not_name(former: str, text: str, expected: str | None) -> None:
    """The unit of a timer, the half of the day, the due time that is put off; no hour that is past by then."""
    before = moment(former, "en", NOW, BERLIN)
    assert before is not None
    new = moved(text, "en", NOW, BERLIN, before)
    assert (worded(new, "en", NOW) if new else None) == expected


@pytest.mark.parametrize(
    ("former", "expected"),
    [("tomorrow at 10 am", "tomorrow at 3 pm"), ("tomorrow at 2 am", "tomorrow at 3 am")],
)
def test_a_reminder_does_not_move_into_the_night(former: str, expected: str) -> None:
    """ "At 3" is in the afternoon, as for a new reminder; one in the night stays there."""
    before = moment(former, "en", NOW, BERLIN)
    assert before is not None
    new = moved("at 3", "en", NOW, BERLIN, before, by_day=True)
    assert new is not None
    assert worded(new, "en", NOW) == expected
