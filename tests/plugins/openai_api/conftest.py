"""OpenAI's own client of a server whose models play a script."""

from collections.abc import AsyncIterator

import pytest
from openai import AsyncOpenAI, DefaultAsyncHttpxClient

from app.assistant import Assistant
from tests.support.http_door import served


@pytest.fixture
async def sdk(assistant: Assistant) -> AsyncIterator[AsyncOpenAI]:
    """The official client, which tries nothing twice."""
    http = DefaultAsyncHttpxClient(trust_env=False)
    async with (
        served(assistant) as url,
        AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, http_client=http) as client,
    ):
        yield client
