"""Processes and the server are killed and frozen in the middle of conversations, and nobody notices."""

import asyncio

import pytest

from tests.plugins.postgres.chaos import Plan, befall
from tests.support.postgres_server import programs


@pytest.mark.slow
async def test_every_message_is_answered_once(capfd: pytest.CaptureFixture[str]) -> None:
    """In its order in each thread, and every effect happens once; a frozen process wakes up and spoils nothing."""
    if programs() is None:
        pytest.skip("PostgreSQL is not installed")
    plan = Plan(threads=12, turns=3, kills=6, server_kills=1, freezes=1)
    outcome = await asyncio.to_thread(befall, plan)
    assert outcome.faults == {"kill": 6, "server": 1, "freeze": 1}
    assert outcome.unanswered == outcome.doubled == outcome.out_of_order == []
    assert outcome.wrong_effects == outcome.wedged == []
    capfd.readouterr()
