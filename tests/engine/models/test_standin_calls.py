"""What the tools make of a language model's calls for what people say, through the whole graph."""

from pathlib import Path

import pytest

from tests.support.standin_calls import WRITING, Case, cases, outcomes, own_cases

LANGUAGES = ("en", "ru")
LEAST = 250
"""Different calls in each language."""


@pytest.fixture(autouse=True)
def in_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tables name times in UTC."""
    monkeypatch.setenv("TZ", "UTC")


def every_case(lang: str) -> list[Case]:
    """Return the cases of all tables."""
    return [*(case for table in WRITING for case in cases(table, lang)), *own_cases(lang)]


async def not_as_named(path: Path, lang: str, wanted: list[Case]) -> list[object]:
    """Return the texts whose calls wrote something else than their rows name, or after which nothing was said."""
    results = await outcomes(path, lang, wanted)
    assert len(results) == len(wanted)
    return [(it.row.text, it.wrote, it.row.writes) for it in results if not (it.is_right and it.reply)]


@pytest.mark.slow
@pytest.mark.parametrize("lang", LANGUAGES)
async def test_calls_write_what_is_named_and_nothing_else(tmp_path: Path, lang: str) -> None:
    """New things, corrections and several wishes; numbers that there are not and impossible times write nothing."""
    assert await not_as_named(tmp_path / "said.db", lang, every_case(lang)) == []


@pytest.mark.parametrize("lang", LANGUAGES)
def test_no_call_is_made_twice(lang: str) -> None:
    """Rows that differ only in words count once."""
    keys = {(case.row.before, repr(case.calls)) for case in every_case(lang)}
    assert len(keys) >= LEAST
