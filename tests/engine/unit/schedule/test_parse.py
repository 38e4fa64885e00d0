"""Moments: what people say of time is what they get."""

import tomllib
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis.strategies import characters, lists, sampled_from, text

from agents.language.schedule.grammar import read
from agents.language.schedule.parser import meant, moment
from tests.support.made_inputs import tried

TABLES = {path.stem: tomllib.loads(path.read_text("utf-8")) for path in Path(__file__).parent.glob("moments/*.toml")}
CASES = [(lang, case) for lang, entries in TABLES.items() for case in entries["cases"]]


def instants(table: dict[str, Any], lang: str, text: str, count: int) -> list[str]:
    """Return the first instants that a phrase means, as the table writes them."""
    zone = ZoneInfo(table["zone"])
    named = moment(text, lang, table["now"].replace(tzinfo=zone), zone)
    if named is None:
        return [""]
    found = [named.at]
    while len(found) < count and (following := named.following(found[-1])):
        found.append(following)
    texts = [f"{at:%Y-%m-%d %H:%M:%S}".removesuffix(":00") for at in found]
    return texts + [""] * (count - len(texts))


@pytest.mark.parametrize(("lang", "case"), CASES, ids=lambda value: value[0] if isinstance(value, list) else value)
def test_a_phrase_means_what_people_expect(lang: str, case: list[str]) -> None:
    """Each phrase of the tables in `tests/moments` has the instants that stand beside it."""
    said, *expected = case
    assert instants(TABLES[lang], lang, said, len(expected)) == expected


BERLIN, NEW_YORK = ZoneInfo("Europe/Berlin"), ZoneInfo("America/New_York")


@pytest.mark.parametrize(
    ("zone", "now", "said", "expected"),
    [
        # The clocks in Berlin go from 2:00 to 3:00 on 28 March 2027, and from 3:00 to 2:00 on 31 October.
        (BERLIN, "2027-03-27T12:00", "tomorrow at 2:30", ["2027-03-28T03:30+02:00"]),
        (BERLIN, "2027-03-27T12:00", "every day at 2:30 am", ["2027-03-28T03:30+02:00", "2027-03-29T02:30+02:00"]),
        (BERLIN, "2027-03-28T01:50", "in 20 minutes", ["2027-03-28T03:10+02:00"]),
        (BERLIN, "2027-03-27T20:00", "in 24 hours", ["2027-03-28T21:00+02:00"]),
        (BERLIN, "2027-03-27T20:00", "in 1 day", ["2027-03-28T20:00+02:00"]),
        (BERLIN, "2027-03-27T09:00", "every day at 9", ["2027-03-28T09:00+02:00", "2027-03-29T09:00+02:00"]),
        (BERLIN, "2027-10-30T12:00", "tomorrow at 2:30", ["2027-10-31T02:30+02:00"]),
        (BERLIN, "2027-10-30T12:00", "every day at 2:30 am", ["2027-10-31T02:30+02:00", "2027-11-01T02:30+01:00"]),
        (BERLIN, "2027-10-31T01:30", "every hour", ["2027-10-31T02:30+02:00", "2027-10-31T02:30+01:00", "2027-10-31T03:30+01:00"]),  # noqa: E501  # a row of a table
        (BERLIN, "2027-10-31T01:30", "in 90 minutes", ["2027-10-31T02:00+01:00"]),
        # In New York on 14 March 2027 and on 7 November.
        (NEW_YORK, "2027-03-13T12:00", "tomorrow at 2:30", ["2027-03-14T03:30-04:00"]),
        (NEW_YORK, "2027-03-13T12:00", "every Sunday at 2 am", ["2027-03-14T03:00-04:00", "2027-03-21T02:00-04:00"]),
        (NEW_YORK, "2027-11-06T12:00", "every day at 1:15 am", ["2027-11-07T01:15-04:00", "2027-11-08T01:15-05:00"]),
        (NEW_YORK, "2027-11-07T00:50", "in 90 minutes", ["2027-11-07T01:20-05:00"]),
    ],
)  # fmt: skip
def test_daylight_saving_keeps_the_place_on_the_clock(zone: ZoneInfo, now: str, said: str, expected: list[str]) -> None:
    """Days keep the time on the clock, hours their length; a skipped time comes by as much later."""
    named = moment(said, "en", datetime.fromisoformat(now).replace(tzinfo=zone), zone)
    assert named is not None
    found = [named.at]
    while len(found) < len(expected) and (following := named.following(found[-1])):
        found.append(following)
    assert [at.isoformat(timespec="minutes") for at in found] == expected


def test_a_repetition_never_stands_still_or_comes_early() -> None:
    """Whatever instant is asked for, the following one is later, and none lies between the two."""
    for said in ("every day at 2:30 am", "every hour", "every Sunday at 1:15 am", "on the 31st of every month"):
        named = moment(said, "en", datetime(2027, 1, 5, 12, tzinfo=NEW_YORK), NEW_YORK)
        assert named is not None
        at = named.at
        for _ in range(60):
            following = named.following(at)
            assert following is not None
            assert following > at
            assert named.following(at + (following - at) / 2) == following
            at = following


def test_the_time_zone_is_the_persons() -> None:
    """The same words at the same instant are another moment in another zone."""
    now = datetime(2026, 11, 20, 23, 30, tzinfo=ZoneInfo("UTC"))
    found = [moment("tomorrow at 9", "en", now, zone) for zone in (BERLIN, NEW_YORK)]
    assert [named.at.isoformat() for named in found if named] == [
        "2026-11-22T09:00:00+01:00",
        "2026-11-21T09:00:00-05:00",
    ]


@pytest.mark.parametrize(
    ("lang", "said", "at", "rest"),
    [
        ("en", "remind me at 5 pm two tickets", "2026-11-20 17:00", "remind me two tickets"),
        ("ru", "напомни в 17 по дороге купить хлеб", "2026-11-20 17:00", "напомни по дороге купить хлеб"),
        ("zh", "下午三点一起吃饭", "2026-11-20 15:00", "一起吃饭"),
        ("en", "remind me to call mom tomorrow at 9", "2026-11-21 09:00", "remind me to call mom"),
        ("en", "Remind me in 20 minutes to turn off the oven", "2026-11-20 10:20", "Remind me to turn off the oven"),
        ("ru", "напомни мне завтра в 9 позвонить маме", "2026-11-21 09:00", "напомни мне позвонить маме"),
        ("ru", "Поставь таймер на 10 минут", "2026-11-20 10:10", "Поставь таймер"),
        ("zh", "提醒我明天下午三点给妈妈打电话", "2026-11-21 15:00", "提醒我 给妈妈打电话"),
        ("zh", "20分钟后提醒我关火", "2026-11-20 10:20", "提醒我关火"),
    ],
)
def test_a_moment_is_found_among_other_words(lang: str, said: str, at: str, rest: str) -> None:
    """Words that are not about time are given back as they were written."""
    reading = read(said, lang)
    assert reading is not None
    named = meant(reading.pieces, datetime(2026, 11, 20, 10, tzinfo=BERLIN), BERLIN)
    assert named is not None
    assert (f"{named.at:%Y-%m-%d %H:%M}", reading.rest) == (at, rest)


@pytest.mark.parametrize(
    ("lang", "said"),
    [
        ("en", "remind me in an hour twenty to stop"),
        ("en", "remind me at 5 pm EST to call"),
        ("ru", "напомни через час двадцать выключить суп"),
        ("ru", "напомни в 17 по Москве позвонить Ивану"),
        ("zh", "提醒我一小时二十关火"),
        ("zh", "提醒我下午五点北京时间开会"),
    ],
)
def test_what_is_left_of_a_time_is_no_text(lang: str, said: str) -> None:
    """A number that may be minutes, and a zone: then the sentence is not understood, and somebody asks."""
    assert read(said, lang) is None


@pytest.mark.parametrize("lang", TABLES)
@tried(30)
@given(text(characters(exclude_categories=["Cs"])))
def test_any_text_is_read_without_an_error(lang: str, said: str) -> None:
    """Whatever people write, it names a moment to come or none."""
    now = datetime(2026, 11, 20, 10, tzinfo=BERLIN)
    named = moment(said, lang, now, BERLIN)
    assert named is None or named.at > now


@pytest.mark.parametrize("lang", TABLES)
@tried(30)
@given(lists(sampled_from(" ".join(case[0] for _, case in CASES).split()), max_size=8))
def test_any_words_of_time_are_read_without_an_error(lang: str, said: list[str]) -> None:
    """Words of time in any order name a moment to come or none."""
    now = datetime(2026, 11, 20, 10, tzinfo=BERLIN)
    named = moment(" ".join(said), lang, now, BERLIN)
    assert named is None or named.at > now
