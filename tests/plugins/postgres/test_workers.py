"""Doors hand their turns to workers: who talks does not notice, whatever becomes of the workers."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

import httpx
import psycopg
import pytest

from tests.plugins.postgres.chaos import Plan
from tests.plugins.postgres.worker_chaos import befall
from tests.support.http_door import events_of, streamed
from tests.support.odd_provider import Provider, words
from tests.support.postgres_server import PostgresServer, programs
from tests.support.until import until
from tests.support.worker_fleet import Fleet

pytestmark = pytest.mark.slow
COUNT = "one two three four five six seven eight nine ten"
LONG = " ".join(f"word{number}" for number in range(400))
"""An answer of forty seconds that does not repeat itself: one that does is cut."""
TALK = (
    *("hello", "remind me tomorrow at 9 to call mum", "delete all my reminders", "1"),
    *("forget everything about me", "yes", "remind me tomorrow at 8 to sleep"),
)
SIZES = {"workers": 2, "threads": 8, "turns": 3, "kills": 3, "server_kills": 1, "freezes": 1}


@pytest.fixture
def fresh(postgres_server: PostgresServer) -> Callable[[], str]:
    """Return the maker of empty databases."""
    return postgres_server.fresh


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    """Run a model that speaks slowly."""
    async with Provider.open(words(f"{COUNT} {LONG}"), pace=0.1) as speaking:
        yield speaking


def before(provider: Provider, url: str) -> Fleet:
    """Return commands whose model is this one."""
    model = {"LLM_MODEL": "openai:slow", "OPENAI_BASE_URL": provider.url, "OPENAI_API_KEY": "key"}
    return Fleet(url, model)


async def talk(client: httpx.AsyncClient) -> list[dict[str, Any]]:
    """Hold a conversation, with questions that are answered, and which deletes something; return all events."""
    events = []
    for number, text in enumerate(TALK):
        events += await streamed(client, "/threads/ann/turns", {"text": text, "id": f"m{number}"})
    return events


def lasting(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return events without what is another each time: times, ids of calls, and numbers of events that nobody saw."""
    return [{name: value for name, value in event.items() if name not in ("ms", "id", "seq")} for event in events]


def said(events: list[dict[str, Any]]) -> list[str]:
    """Return the texts of the answer."""
    return [event["text"] for event in events if event["type"] == "message"]


async def test_a_conversation_is_the_same(fresh: Callable[[], str]) -> None:
    """Whether the door plays its turns or a worker does, the events are the same; nothing of them is left behind."""
    async with Fleet(fresh(), {"WORKERS": "no"}).door() as client:
        expected = await talk(client)
    fleet = Fleet(fresh())
    async with fleet.command("worker"), fleet.door() as client:
        stream = await talk(client)
        again = await streamed(client, "/threads/ann/turns", {"text": TALK[-1], "id": "m6"})
        await until(partial(is_empty, fleet.url))
    assert lasting(stream) == lasting(expected)
    assert said(again)[-1] == said(stream)[-1]


async def test_an_answer_is_streamed_and_stopped(fresh: Callable[[], str], provider: Provider) -> None:
    """It comes word by word, and any door can stop it; its shown part is kept."""
    fleet = before(provider, fresh())
    async with fleet.command("worker"), fleet.door() as client, fleet.door() as other:
        asking = client.stream(
            "POST", "/threads/ann/turns", json={"text": "count"}, headers={"Accept": "text/event-stream"}
        )
        events = []
        async with asking as response:
            async for event in events_of(response):
                events.append(event)
                if event["type"] == "token" and len(said_so_far(events)) == 1:
                    assert (await other.post("/threads/ann/cancel", json={})).json() == {"stopped": True}
        assert [event["type"] for event in events][-2:] == ["message", "turn.end"]
        assert events[-2]["interrupted"]
        assert events[-2]["text"].startswith("one")
        assert not events[-2]["text"].endswith("word399")
        assert (await other.post("/threads/ann/cancel", json={})).json() == {"stopped": False}


def said_so_far(events: list[dict[str, Any]]) -> list[str]:
    """Return the pieces of an answer."""
    return [event["text"] for event in events if event["type"] == "token"]


@pytest.mark.parametrize("is_short", [True, False])
async def test_a_worker_that_is_stopped_loses_nothing(fresh: Callable[[], str], is_short: bool) -> None:
    """A turn that ends soon is ended, a longer one is handed to another worker; it is answered and counted once."""
    lines = [words(COUNT)] if is_short else [words(LONG), words(COUNT)]
    async with Provider.open(*lines, pace=0.1) as provider:
        fleet = before(provider, fresh())
        async with fleet.door() as client:
            async with fleet.command("worker"):
                asking = asyncio.create_task(streamed(client, "/threads/ann/turns", {"text": "count"}))
                await provider.has_sent(2)
                other = fleet.command("worker")
                await other.__aenter__()
            events = await asking
            measures = (await client.get("/metrics")).text
            await other.__aexit__(None, None, None)
        assert said(events) == [COUNT]
        assert len(provider.bodies) == (1 if is_short else 2)
        assert 'model_calls_total{model="openai:slow"} 1.0' in measures
        assert ("error", "model_retry") in [(event["type"], event.get("code")) for event in events] or is_short
        await until(partial(is_empty, fleet.url))


async def test_nobody_notices_what_befalls_workers() -> None:
    """Workers and the server are killed, and a worker is frozen and wakes up: every message is answered once.

    The order of each thread is kept, and every effect happens once. The sizes can be set: CHAOS_KILLS=300.
    """
    if programs() is None:
        pytest.skip("PostgreSQL is not installed")
    sizes = {name: int(os.environ.get(f"CHAOS_{name.upper()}", size)) for name, size in SIZES.items()}
    outcome = await asyncio.to_thread(befall, Plan(**sizes))
    assert outcome.faults == {
        "kill": sizes["kills"],
        "server": sizes["server_kills"],
        "freeze": sizes["freezes"],
    }
    assert outcome.unanswered == outcome.doubled == outcome.out_of_order == []
    assert outcome.wrong_effects == outcome.wedged == outcome.wrongly_told == []


def is_empty(url: str) -> bool:
    """Tell whether turns, pages of events and jobs that ended have all been taken away."""
    with psycopg.connect(url) as connection:
        tables = ("worker_turns", "worker_events", "procrastinate_jobs")
        return not any(connection.execute(f"SELECT 1 FROM {table} LIMIT 1".encode()).fetchone() for table in tables)
