"""What begins a dialog, and what only mentions its subject, said to `local:rules` as people say it."""

from pathlib import Path

import pytest

from tests.support.opening_table import PLACES, openings, sentences
from tests.support.standin_table import TABLES, TODOS

LEAST_UNDERSTOOD = 24
"""Of thirty sentences."""


@pytest.mark.slow
@pytest.mark.parametrize(("dialog", "lang"), PLACES)
async def test_most_openings_reach_their_dialog_and_none_another(tmp_path: Path, dialog: str, lang: str) -> None:
    """A sentence that is not understood is answered by the supervisor, and no other dialog acts on it."""
    texts = sentences(dialog, lang)
    outcomes = await openings(tmp_path / "said.db", lang, texts)
    assert len(texts) == len({*texts}) == 30
    assert [opening for opening in outcomes if opening.dialogs - {dialog}] == []
    assert sum(dialog in opening.dialogs for opening in outcomes) >= LEAST_UNDERSTOOD


@pytest.mark.slow
@pytest.mark.parametrize("lang", TODOS)
async def test_a_subject_that_is_only_mentioned_begins_no_dialog(tmp_path: Path, lang: str) -> None:
    """Sayings, what others said, suppositions and complaints: each has a word that may begin a dialog."""
    texts = (TABLES / lang / "mentions.txt").read_text("utf-8").splitlines()
    outcomes = await openings(tmp_path / "said.db", lang, texts)
    assert [(opening.text, opening.dialogs) for opening in outcomes if opening.dialogs] == []
    assert [opening.text for opening in outcomes if not opening.reply] == []
