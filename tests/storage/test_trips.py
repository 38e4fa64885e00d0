"""The number of a turn's trips to the database."""

import pytest

from agents.memory.connection import Connection
from tests.support.parts import EVERY_PART
from tests.support.trips import costs, noted


@pytest.mark.needs(*EVERY_PART)
async def test_an_ordinary_turn_goes_seldom_to_its_file(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its message is stored when it comes; state, transcript and outcome are stored together at the end."""
    found = await costs(database, noted(Connection, monkeypatch))
    assert found["go on"] == (7, 21, 3)
    assert found["put milk"] == (16, 43, 8)
