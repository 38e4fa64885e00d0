"""What people say of their day to `local:rules`: lists by name, notes, single times of a repetition, slips."""

from pathlib import Path

import pytest

from tests.support.standin_table import outcomes, rows

FOLDER = Path(__file__).parent / "days_words"
LANGUAGES = sorted(path.stem for path in FOLDER.glob("*.txt"))


@pytest.fixture(autouse=True)
def in_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tables name times in UTC."""
    monkeypatch.setenv("TZ", "UTC")


@pytest.mark.slow
@pytest.mark.parametrize("lang", LANGUAGES)
async def test_each_text_writes_what_it_names(tmp_path: Path, lang: str) -> None:
    """A text without a mark writes nothing: it asks, tells, or was not understood."""
    outcomes_seen = await outcomes(tmp_path / "said.db", lang, rows(lang, "", FOLDER))
    assert [(outcome.row.text, outcome.wrote) for outcome in outcomes_seen if not outcome.is_right] == []
