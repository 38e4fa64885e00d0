"""Why words are no time, and what is asked of one's plans."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from agents.language.schedule import Moment
from agents.language.schedule.parser import moment, problem
from agents.language.schedule.period import period
from agents.language.schedule.wording import length

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 20, 10, tzinfo=BERLIN)
"""A Friday at ten."""


def at(text: str, lang: str = "en") -> Moment:
    """Return the moment that a text names now."""
    named = moment(text, lang, NOW, BERLIN)
    assert named is not None
    return named


@pytest.mark.parametrize(
    ("lang", "text", "reason"),
    [
        ("en", "yesterday", "past"),
        ("en", "today at 8 am", "past"),
        ("en", "on 5 March 2020", "past"),
        ("en", "2020-01-01T10:00", "past"),
        ("en", "at 25:00", "no_hour"),
        ("en", "on 31 February", "no_day"),
        ("en", "on 29 February 2027", "no_day"),
        ("en", "when I get home", "unclear"),
        ("en", "at 5 pm and at 7 pm", "several"),
        ("en", "at 5 pm and soup", "unclear"),
        ("ru", "в 17:00 и в 19:00", "several"),
        ("ru", "вчера", "past"),
        ("ru", "в 25:00", "no_hour"),
        ("ru", "31 февраля", "no_day"),
    ],
)
def test_why_words_are_no_time_is_known(lang: str, text: str, reason: str) -> None:
    """A time that is past, a day and an hour that there is not are told apart from words that mean none."""
    assert moment(text, lang, NOW, BERLIN) is None
    assert problem(text, lang, NOW, BERLIN).reason == reason


@pytest.mark.parametrize(
    ("lang", "text", "expected"),
    [
        ("en", "today", "days 20-21"),
        ("en", "tomorrow", "days 21-22"),
        ("en", "Friday", "days 20-21"),
        ("en", "this week", "days 20-23"),
        ("en", "next week", "days 23-30"),
        ("en", "my weekend", "days 21-23"),
        ("en", "next", "next 20-21"),
        ("en", "overdue", "overdue 20-21"),
        ("en", "the radio", None),
        ("en", "every day", None),
        ("ru", "на этой неделе", "days 20-23"),
        ("ru", "на выходных", "days 21-23"),
        ("ru", "в пятницу", "days 20-21"),
        ("ru", "осталось", "left 20-21"),
        ("zh", "这个周末", "days 21-23"),
    ],
)
def test_what_is_asked_for_is_a_period(lang: str, text: str, expected: str | None) -> None:
    """Days end at midnight, weeks on Sunday."""
    asked = period(text, lang, NOW, BERLIN)
    assert (f"{asked.sort} {asked.start:%d}-{asked.end:%d}" if asked else None) == expected


def test_a_repetition_is_in_each_day_that_it_comes() -> None:
    """One by the day once a day, one by the hour only once, too."""
    week = period("next week", "en", NOW, BERLIN)
    assert week is not None
    assert len([*week.times(at("every day at 9"))]) == 7
    assert len([*week.times(at("every 3 hours"))]) == 7
    assert [f"{time:%a}" for time in week.times(at("every Monday and Friday at 9"))] == ["Mon", "Fri"]
    assert [*week.times(at("tomorrow at 9"))] == []


@pytest.mark.parametrize(
    ("seconds", "en", "ru"),
    [
        (1, "1 second", "1 секунду"),
        (61, "1 minute 1 second", "1 минуту 1 секунду"),
        (299, "5 minutes", "5 минут"),
        (3720, "1 hour 2 minutes", "1 час 2 минуты"),
        (11 * 3600, "11 hours", "11 часов"),
        (90_000, "1 day 1 hour", "1 день 1 час"),
        (21 * 60, "21 minutes", "21 минуту"),
    ],
)
def test_a_length_of_time_is_told(seconds: int, en: str, ru: str) -> None:
    """Its two largest units, in the form that goes with the number."""
    assert (length(seconds, "en"), length(seconds, "ru")) == (en, ru)
