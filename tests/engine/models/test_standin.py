"""What people say to `local:rules`, through the whole graph: it does what it has understood whole, or nothing."""

import os
from pathlib import Path

import pytest

from tests.support.standin_table import HELD, Outcome, everywhere, outcomes, rows

WRITING = ("one", "corrections", "several")
PARTS, PLAYED = 7, int(os.environ.get("STANDIN_PARTS", "2"))
"""Parts of the longest table, and how many of them are played. It has eight rows of each text, so each part has all."""
MOST_MISSED = 0.2
"""The share of wishes that may not be understood."""


def wrong(results: list[Outcome]) -> list[tuple[str, tuple[str, ...]]]:
    """Return the texts that wrote what they do not name."""
    return [(outcome.row.text, outcome.wrote) for outcome in results if outcome.is_wrong]


def missed(results: list[Outcome]) -> float:
    """Return the share of wishes that were not fulfilled."""
    wishes = [outcome for outcome in results if outcome.row.writes]
    return sum(not outcome.is_right for outcome in wishes) / len(wishes)


@pytest.fixture(autouse=True)
def in_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tables name times in UTC."""
    monkeypatch.setenv("TZ", "UTC")


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PLAYED))
@pytest.mark.parametrize("lang", HELD)
async def test_what_is_no_wish_writes_nothing_in_any_dialog(tmp_path: Path, lang: str, part: int) -> None:
    """Asides, farewells, vague wishes, other people's words, jokes, insults and half sentences."""
    results = await outcomes(tmp_path / "said.db", lang, everywhere(lang)[part::PARTS])
    assert wrong(results) == []
    assert [outcome.row.text for outcome in results if not outcome.reply] == []


@pytest.mark.slow
@pytest.mark.parametrize("table", WRITING)
@pytest.mark.parametrize("lang", HELD)
async def test_a_wish_writes_what_it_names_or_nothing(tmp_path: Path, lang: str, table: str) -> None:
    """One wish, a correction, or several wishes in one message; most of them are fulfilled."""
    results = await outcomes(tmp_path / "said.db", lang, rows(table, lang))
    assert wrong(results) == []
    assert missed(results) <= MOST_MISSED


def test_the_tables_are_as_long_as_they_shall_be() -> None:
    """Texts that write nothing, wishes, corrections, and messages with several wishes; in Chinese fewer."""
    least = {"nothing": 150, "one": 150, "corrections": 60, "several": 40}
    chinese = {"nothing": 120, "one": 60, "corrections": 24, "several": 15}
    bars = {lang: chinese if lang == "zh" else least for lang in HELD}
    assert [(lang, it) for lang, bar in bars.items() for it in bar if len({*rows(it, lang)}) < bar[it]] == []
