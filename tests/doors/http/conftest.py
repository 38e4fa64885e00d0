"""A server whose models play a script, and clients of it."""

from collections.abc import AsyncIterator

import httpx
import pytest

from app.assistant import Assistant
from tests.support.http_door import served


@pytest.fixture
async def client(assistant: Assistant) -> AsyncIterator[httpx.AsyncClient]:
    """Call a server without keys."""
    async with served(assistant) as url, httpx.AsyncClient(base_url=url, timeout=300) as calling:
        yield calling
