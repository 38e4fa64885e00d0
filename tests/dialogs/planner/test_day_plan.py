"""A day told in one sentence."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from dialogs.planner.day_plan import items

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 20, 10, tzinfo=BERLIN)
"""A Friday at ten."""


@pytest.mark.parametrize(
    ("lang", "plan", "expected"),
    [
        (
            "en",
            "dentist at 11am, groceries, pick up the kids at 3:30, and call the plumber",
            [("dentist", "20 11:00"), ("groceries", ""), ("pick up the kids", "20 15:30"), ("call the plumber", "")],
        ),
        ("en", "lunch at 1, gym at 7 and read", [("lunch", "20 13:00"), ("gym", "20 19:00"), ("read", "")]),
        ("en", "dentist at 9, milk", [("dentist at 9", "past"), ("milk", "")]),
        ("en", "tomorrow: run at 7, bread", [("run", "21 07:00"), ("bread", "")]),
        ("en", "lunch at noon at 1, milk", [("lunch at noon at 1", "unclear"), ("milk", "")]),
        ("en", "meeting at 25:00", [("meeting at 25:00", "no_hour")]),
        ("en", "walk the dog tomorrow at 8, at noon", [("walk the dog", "21 08:00"), ("at noon", "unclear")]),
        ("ru", "врач в 11, продукты и забрать детей в 15:30", [("врач", "20 11:00"), ("продукты", ""), ("забрать детей", "20 15:30")]),  # noqa: E501  # a row of a table
        ("ru", "обед с Кирой в 13:00, кофе в обед", [("обед с Кирой", "20 13:00"), ("кофе", "20 12:00")]),
    ],
)  # fmt: skip
def test_a_day_is_read_from_a_sentence(lang: str, plan: str, expected: list[tuple[str, str]]) -> None:
    """An entry with a time has its moment, the others have none; an impossible one has the reason."""
    read = [
        (it.text, it.problem.reason if it.problem else f"{it.moment.at:%d %H:%M}" if it.moment else "")
        for it in items(plan, lang, NOW, BERLIN)
    ]
    assert read == expected
