"""The HTTP server is killed amid streams: every message is answered once, and what a client saw is what is stored."""

import asyncio
import json
import random
import signal
import sys
from functools import partial
from itertools import chain, cycle
from pathlib import Path

import httpx
import pytest

from app.testing.script import Script
from tests.support.http_door import events_of
from tests.support.killable_server import KillableServer
from tests.support.loopback import free_port
from tests.support.scripted_assistant import ROLES, script_lines, stage
from tests.support.until import moment, until

SEED, KILLS, THREADS = 22, 12, ("ann", "bob")
AMID_STREAMS = 0.7
"""The share of kills that wait until a client reads an answer."""


class Client:
    """Somebody who sends one message after the other, each again until it is answered."""

    def __init__(self, url: str, reads: asyncio.Event, thread: str = "") -> None:
        self.url, self.reads, self.thread = url, reads, thread
        self.sent: list[str] = []
        self.seen: list[str] = []
        self.cut = 0
        """Streams that broke off."""

    async def talk(self, over: asyncio.Event) -> None:
        """Send messages until it is over."""
        async with httpx.AsyncClient(base_url=self.url, timeout=300) as client:
            while not over.is_set() or not self.seen:
                self.sent.append(f"w{len(self.sent):04}")
                await until(partial(self._answered, client, self.sent[-1]), pause=0.05)

    async def _answered(self, client: httpx.AsyncClient, word: str) -> bool:
        body, headers = {"text": word, "id": word}, {"accept": "text/event-stream"}
        texts = list[str]()
        has_begun = False
        try:
            path = f"/threads/{self.thread}/turns"
            async with client.stream("POST", path, json=body, headers=headers) as response:
                if response.status_code != 200:
                    return False
                async for event in events_of(response):
                    has_begun = True
                    self.reads.set()
                    texts += [event["text"]] if event["type"] == "message" else []
                    if event["type"] == "turn.end":
                        self.seen += texts
                        return True
        except httpx.TransportError:
            pass
        self.cut += has_begun
        return False


class CompletionsClient(Client):
    """Somebody who sends all that was said each time, as clients of OpenAI do, and may name a person or a chat."""

    def __init__(self, url: str, reads: asyncio.Event, user: str | None = None, chat: str | None = None) -> None:
        super().__init__(url, reads)
        self._fields = {"user": user} if user else {}
        self._headers = {"X-Thread-Id": chat} if chat else {}

    async def _answered(self, client: httpx.AsyncClient, word: str) -> bool:
        said = chain.from_iterable(zip(self.sent, [*self.seen, ""], strict=True))
        messages = [{"role": role, "content": text} for role, text in zip(cycle(["user", "assistant"]), said)]
        body = {"model": "dialog-supervisor", "messages": messages[:-1], "stream": True, **self._fields}
        headers = {"Idempotency-Key": word, **self._headers}
        answer, has_begun = "", False
        try:
            async with client.stream("POST", "/v1/chat/completions", json=body, headers=headers) as response:
                if response.status_code != 200:
                    return False
                self.thread = response.headers["X-Thread-Id"]
                async for line in response.aiter_lines():
                    if line == "data: [DONE]":
                        self.seen.append(answer)
                        return True
                    for choice in json.loads(line.removeprefix("data: "))["choices"] if line else []:
                        has_begun = True
                        self.reads.set()
                        answer += choice["delta"].get("content") or ""
        except httpx.TransportError:
            pass
        self.cut += has_begun
        return False


@pytest.mark.slow
@pytest.mark.needs("openai_api")
async def test_a_server_that_is_killed_often(tmp_path: Path) -> None:
    """Five clients, twelve kills: nothing is lost, nothing is answered twice, nobody sees what is not stored.

    Three of them send what was said, in the same words: one names a person, one a chat, one nobody.
    """
    chance, over, reads = random.Random(SEED), asyncio.Event(), asyncio.Event()
    url = f"http://127.0.0.1:{free_port()}"
    clients = [Client(url, reads, thread) for thread in THREADS]
    clients += [CompletionsClient(url, reads, user="dan"), CompletionsClient(url, reads, chat="eve")]
    clients += [CompletionsClient(url, reads)]
    async with KillableServer.ready(url, tmp_path / "server.db") as server:
        await server.start()
        # Nobody can tell whether somebody without a name begins anew or again.
        over.set()
        await asyncio.gather(*[client.talk(over) for client in clients])
        over.clear()
        await server.end(signal.SIGKILL)
        talks = [asyncio.create_task(client.talk(over)) for client in clients]
        for _ in range(KILLS):
            reads.clear()
            await server.start()
            if chance.random() < AMID_STREAMS:
                await asyncio.wait_for(reads.wait(), 60)
            await moment(0.3, chance=chance)
            await server.end(chance.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM]))
        over.set()
        await server.start()
        await asyncio.gather(*talks)
        await server.end(signal.SIGTERM)
    async with stage(tmp_path / "server.db", Script().models(ROLES)) as assistant:
        for client in clients:
            lines = [line.removesuffix(" ^C") for line in await script_lines(assistant, client.thread)]
            words = [line.removeprefix("user: ") for line in lines if line.startswith("user: ")]
            answers = [line.removeprefix("supervisor: ") for line in lines if line.startswith("supervisor: ")]
            assert words == client.sent
            assert answers == client.seen
    cuts, answered = sum(client.cut for client in clients), sum(len(client.seen) for client in clients)
    sys.stdout.write(f"{KILLS} kills, {answered} answers, {cuts} streams broken off\n")
    assert cuts > KILLS / 4
