"""The tools with a language model's calls for people's sentences, through the whole graph."""

from pathlib import Path

import pytest

from tests.support.standin_calls import cases, outcomes


@pytest.mark.slow
@pytest.mark.parametrize("lang", ["en", "ru"])
async def test_calls_write_what_is_named_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lang: str
) -> None:
    """New things, corrections and several wishes; numbers that there are not and impossible times write nothing."""
    monkeypatch.setenv("TZ", "UTC")
    results = await outcomes(tmp_path / "said.db", lang, cases(lang))
    assert [(it.row.text, it.wrote, it.row.writes) for it in results if not (it.is_right and it.reply)] == []
