"""The HTTP door on a port of this machine, and its streams as a client reads them."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx

from app.assistant import Assistant
from app.assistant.file_reader import FileReader
from app.doors.http import service
from app.doors.http.server import make_server
from app.security.api_keys import Key, read_keys
from app.settings import Settings
from tests.support.until import until

SHOP, OTHER, OPERATOR = ("s" * 20, "o" * 20, "p" * 20)
"""Keys: of two callers who may talk, and of one who may operate."""
KEYS = f"shop:talk:{SHOP}, other:talk:{OTHER}, ops:operate:{OPERATOR}"


@asynccontextmanager
async def served(
    assistant: Assistant,
    keys: str = "",
    *,
    settings: Settings | None = None,
    reader: FileReader | None = None,
) -> AsyncIterator[str]:
    """Serve on a free port during the block; yield the address."""
    held: tuple[Key, ...] = read_keys(keys)
    app = service.make_app(assistant, held, settings=settings, reader=reader)
    server = make_server(app, "127.0.0.1", 0, patience=1)
    async with service.serving(app):
        serving = asyncio.create_task(server.serve())
        try:
            await until(lambda: server.started)
            yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
        finally:
            server.should_exit = True
            await serving


@asynccontextmanager
async def calling(
    assistant: Assistant, keys: str = "", headers: Mapping[str, str] | None = None, **more: Any
) -> AsyncIterator[httpx.AsyncClient]:
    """Serve as `served` does; yield a client that sends these headers with each request."""
    async with (
        served(assistant, keys, **more) as url,
        httpx.AsyncClient(base_url=url, headers=headers, timeout=300) as client,
    ):
        yield client


def by(key: str) -> dict[str, str]:
    """Return the header with a key."""
    return {"Authorization": f"Bearer {key}"}


async def streamed(client: httpx.AsyncClient, path: str, body: object, **headers: str) -> list[dict[str, Any]]:
    """Return the events of a stream, and check the number of each."""
    asked = {"accept": "text/event-stream"} | {name.replace("_", "-"): value for name, value in headers.items()}
    async with client.stream("POST", path, json=body, headers=asked) as response:
        assert response.status_code == 200, await response.aread()
        assert response.headers["content-type"].startswith("text/event-stream")
        return [event async for event in events_of(response)]


async def events_of(response: httpx.Response) -> AsyncIterator[dict[str, Any]]:
    """Yield the events of a stream as they come."""
    event: dict[str, Any] = {}
    async for line in response.aiter_lines():
        if line.startswith("data: "):
            event = json.loads(line.removeprefix("data: "))
        elif line.startswith("id: "):
            assert int(line.removeprefix("id: ")) == event["seq"]
            yield event
