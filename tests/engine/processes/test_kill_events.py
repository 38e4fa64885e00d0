"""The HTTP server is killed while it rings: who holds a stream, a program's or the page's, is told each notice once."""

import asyncio
import random
import re
import signal
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from app.testing.script import Script
from tests.support.killable_server import KillableServer
from tests.support.loopback import free_port
from tests.support.scripted_assistant import ROLES, script_lines, stage
from tests.support.until import moment

SEED, KILLS, NOTICES = 23, 6, 15
APART_MS = 150
NOTICE = re.compile(r" (n\d+\.)")


@dataclass
class Listener:
    """Somebody who holds a stream open, each time behind what was read last, until every notice was read."""

    path: str
    reads: asyncio.Event
    seen: list[str] = field(default_factory=list)
    """The notices that were read, as `n3.`."""

    async def listen(self, url: str) -> None:
        """Read until the end."""
        place = coming = "0"
        async with httpx.AsyncClient(base_url=url, timeout=300) as client:
            while len(self.seen) < NOTICES:
                with suppress(httpx.TransportError):
                    async with client.stream("GET", self.path, headers={"Last-Event-ID": place}) as stream:
                        read = list[str]()
                        async for line in stream.aiter_lines():
                            name, _, value = line.partition(": ")
                            if name == "data":
                                read += NOTICE.findall(value)
                            elif name == "id":
                                # An event that was cut before its end is none; its place is not taken either.
                                coming = value
                            elif not line and read:
                                place, self.seen, read = coming, self.seen + read, []
                                self.reads.set()
                                if len(self.seen) >= NOTICES:
                                    return
                await moment(0.02)


@pytest.mark.slow
@pytest.mark.needs("page")
async def test_notices_ring_once(tmp_path: Path) -> None:
    """Killed at any time, and amid rings: each notice is read once, and stands once in the conversation.

    One reads the stream of a thread, another the page's.
    """
    chance, reads = random.Random(SEED), asyncio.Event()
    listeners = {"ann": Listener("/threads/ann/events", reads), "page-bob": Listener("/talk/page-bob/events", reads)}
    url = f"http://127.0.0.1:{free_port()}"
    database, keys = tmp_path / "server.db", [f"n{number}." for number in range(NOTICES)]
    async with stage(database, Script().models(ROLES)) as assistant:
        now_ms = round(time.time() * 1000)
        for number, key in enumerate(keys):
            at_ms = now_ms + number * APART_MS
            for thread in listeners:
                await assistant.memory.notices.add(thread, thread, key, text=key, lang="en", at_ms=at_ms)
    async with KillableServer.ready(url, database) as server:
        listening = asyncio.gather(*[listener.listen(url) for listener in listeners.values()])
        for _ in range(KILLS):
            reads.clear()
            await server.start()
            if not listening.done():
                with suppress(TimeoutError):
                    await asyncio.wait_for(reads.wait(), 5)
            await moment(0.1, chance=chance)
            await server.end(chance.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM]))
        await server.start()
        await asyncio.wait_for(listening, 120)
        await server.end(signal.SIGTERM)
    async with stage(database, Script().models(ROLES)) as assistant:
        for thread, listener in listeners.items():
            told = [line.removeprefix("supervisor: ").split()[1] for line in await script_lines(assistant, thread)]
            assert told == listener.seen
            assert sorted(told) == sorted(keys)
