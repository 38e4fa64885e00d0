"""People's opening sentences of each dialog, said to `local:rules`."""

from pathlib import Path

import pytest

from tests.support.opening_table import PLACES, openings, sentences

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
