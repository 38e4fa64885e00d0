"""Requests that do not come to their end: whoever holds connections open holds nobody else up."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import httpx
import pytest

from app.assistant import Assistant
from app.doors.http import server, service
from app.testing import Chat
from tests.support.http_door import served
from tests.support.simulated_time import advance
from tests.support.until import until

HEAD = b"POST /threads/t/turns HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: 100\r\n"
WHOLE = b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"
UNFINISHED = {
    "nothing": b"",
    "half a head": HEAD,
    "half a body": HEAD + b'\r\n{"text"',
    "half a second head": WHOLE + HEAD,
    "a whole request before": WHOLE,
}
"""The bytes that a client sends before it stops."""
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@pytest.fixture
async def assistant(chat: Chat) -> AsyncIterator[Assistant]:
    """Open the application."""
    async with chat.assistant() as opened:
        yield opened


async def connect(url: str, stack: AsyncExitStack, content: bytes) -> Streams:
    """Open a connection and send something on it."""
    address = httpx.URL(url)
    reader, writer = await asyncio.open_connection(address.host, address.port)
    stack.callback(writer.close)
    writer.write(content)
    await writer.drain()
    return reader, writer


async def is_closed(streams: Streams) -> bool:
    """Read to the end; the server has closed the connection when there is one."""
    async with asyncio.timeout(120):
        await streams[0].read()
    return True


@pytest.mark.parametrize("content", UNFINISHED.values(), ids=[*UNFINISHED])
async def test_a_request_that_does_not_come(assistant: Assistant, content: bytes) -> None:
    """Its connection is closed after a while, whatever was sent of it."""
    async with served(assistant) as url, AsyncExitStack() as stack:
        streams = await connect(url, stack, content)
        if content.startswith(WHOLE):
            await streams[0].readuntil(b"ok")
        await until(lambda: server._Connection.unfinished)
        advance(server.PATIENCE)
        assert await is_closed(streams)


@pytest.mark.parametrize("content", UNFINISHED.values(), ids=[*UNFINISHED])
async def test_many_requests_that_do_not_come(
    assistant: Assistant,
    monkeypatch: pytest.MonkeyPatch,
    content: bytes,
) -> None:
    """The oldest of too many makes room, and whoever sends a whole request is answered."""
    monkeypatch.setattr(server, "MOST_UNFINISHED", 5)
    async with (
        served(assistant) as url,
        AsyncExitStack() as stack,
        httpx.AsyncClient(base_url=url, timeout=300) as client,
    ):
        opened = [await connect(url, stack, content) for _ in range(12)]
        assert (await client.get("/healthz")).text == "ok"
        assert all([await is_closed(streams) for streams in opened[:7]])
        assert len(server._Connection.unfinished) <= 5
    assert not server._Connection.unfinished


async def test_answers_that_are_made_are_not_counted(
    assistant: Assistant,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A connection whose request is here waits as long as its answer takes, however many others come."""
    monkeypatch.setattr(server, "MOST_UNFINISHED", 2)
    monkeypatch.setattr(service, "READY_WITHIN", 60.0)
    goes_on, begun = asyncio.Event(), asyncio.Event()

    async def entry(*_: str) -> None:
        begun.set()
        await goes_on.wait()

    monkeypatch.setattr(assistant.memory.transcript, "entry", entry)
    async with (
        served(assistant) as url,
        AsyncExitStack() as stack,
        httpx.AsyncClient(base_url=url, timeout=300) as client,
    ):
        asking = asyncio.create_task(client.get("/readyz"))
        await begun.wait()
        opened = [await connect(url, stack, HEAD) for _ in range(6)]
        assert await is_closed(opened[0])
        goes_on.set()
        assert (await asking).text == "ok"
