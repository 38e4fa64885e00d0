"""The webhook beside workers that are killed."""

import asyncio

import pytest

from tests.plugins.postgres.chaos import Plan
from tests.plugins.telegram import webhook_chaos
from tests.support.postgres_server import programs

pytestmark = [pytest.mark.slow, pytest.mark.needs("postgres")]


async def test_nobody_in_telegram_notices_either() -> None:
    """Telegram posts updates, some of them twice, while workers are killed: each is answered once, and in its order."""
    if programs() is None:
        pytest.skip("PostgreSQL is not installed")
    outcome = await asyncio.to_thread(
        webhook_chaos.befall, Plan(workers=2, threads=6, turns=3, kills=3, server_kills=0, freezes=0)
    )
    assert outcome.faults == {"kill": 3}
    assert outcome.doubled == outcome.out_of_order == outcome.wrongly_told == []
    assert outcome.wrong_effects == outcome.wedged == []
