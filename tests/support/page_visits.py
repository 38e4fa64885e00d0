"""A visit of the page: signed in, with something said."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

from app.assistant import Assistant
from tests.support.http_door import KEYS, calling

BY_PAGE = {"HX-Request": "true"}
TALK = "/talk/day"


@asynccontextmanager
async def visiting(assistant: Assistant, key: str = "") -> AsyncIterator[httpx.AsyncClient]:
    """Visit a server with keys; with a key, signed in."""
    async with calling(assistant, KEYS, headers=BY_PAGE) as visitor:
        if key:
            assert (await visitor.post("/sign-in", data={"key": key})).status_code == 204
        yield visitor


async def said(client: httpx.AsyncClient, path: str = f"{TALK}/messages", **fields: str) -> str:
    """Send something; return the HTML of the answer's stream."""
    shown = await client.post(path, data={"id": "message-1", **fields}, headers=BY_PAGE)
    assert shown.status_code == 200, shown.text
    [stream] = re.findall(r'sse-connect="([^"]+)"', shown.text)
    return (await client.get(stream)).text
