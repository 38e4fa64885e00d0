"""The HTTP server is killed while it rings: who holds a stream of events is told each notice once."""

import asyncio
import random
import signal
import socket
import time
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from agents.models.script import Script
from tests.support.http_door import events_of
from tests.support.killable_server import KillableServer
from tests.support.scripted_assistant import ROLES, script_lines, stage

SEED, KILLS, NOTICES = 23, 12, 30
APART_MS = 150


async def listen(url: str, seen: list[str], reads: asyncio.Event) -> None:
    """Hold a stream open, each time behind what was read last, until every notice was read."""
    place = 0
    async with httpx.AsyncClient(base_url=url, timeout=60) as client:
        while len(seen) < NOTICES:
            with suppress(httpx.TransportError):
                async with client.stream("GET", "/threads/ann/events", headers={"Last-Event-ID": str(place)}) as stream:
                    async for event in events_of(stream):
                        place = event["seq"]
                        seen.append(event["text"])
                        reads.set()
                        if len(seen) >= NOTICES:
                            return
            await asyncio.sleep(0.02)


@pytest.mark.slow
async def test_notices_ring_once(tmp_path: Path) -> None:
    """Killed at any time, and amid rings: each notice is read once, and stands once in the conversation."""
    chance, reads, seen = random.Random(SEED), asyncio.Event(), list[str]()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    database = tmp_path / "server.db"
    async with stage(database, Script().models(ROLES)) as assistant:
        now_ms = round(time.time() * 1000)
        for number in range(NOTICES):
            key = f"n{number}"
            at_ms = now_ms + number * APART_MS
            await assistant.memory.notices.add("ann", "ann", key, text=f"{key}.", lang="en", at_ms=at_ms)
    async with KillableServer.ready(url, database) as server:
        listening = asyncio.create_task(listen(url, seen, reads))
        for _ in range(KILLS):
            reads.clear()
            await server.start()
            if not listening.done():
                with suppress(TimeoutError):
                    await asyncio.wait_for(reads.wait(), 5)
            await asyncio.sleep(chance.uniform(0.0, 0.1))
            await server.end(chance.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM]))
        await server.start()
        await asyncio.wait_for(listening, 60)
        await server.end(signal.SIGTERM)
    async with stage(database, Script().models(ROLES)) as assistant:
        told = [line.removeprefix("supervisor: ") for line in await script_lines(assistant, "ann")]
    assert told == seen
    assert sorted(text.split()[1] for text in seen) == sorted(f"n{number}." for number in range(NOTICES))
