"""The number of a turn's trips to the server."""

import pytest

from app.plugins.postgres.backend import LeasedConnection
from tests.support.postgres_server import PostgresServer
from tests.support.trips import costs, noted


@pytest.mark.slow
async def test_an_ordinary_turn_goes_seldom_to_its_server(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It makes the same trips and transactions as with a file."""
    found = await costs(postgres_server.fresh(), noted(LeasedConnection, monkeypatch))
    assert found["go on"] == (7, 21, 3)
    assert found["put milk"] == (16, 43, 8)
