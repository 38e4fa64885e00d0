"""A server whose models play a script, and clients of it."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from agents.models.script import Script
from app.assistant import Assistant
from tests.support.http_door import served
from tests.support.scripted_assistant import ROLES, stage


@pytest.fixture
def script() -> Script:
    """Lay out what the models say."""
    return Script()


@pytest.fixture
async def assistant(tmp_path: Path, script: Script) -> AsyncIterator[Assistant]:
    """Open the application with the script's models."""
    async with stage(tmp_path / "http.db", script.models(ROLES)) as opened:
        yield opened


@pytest.fixture
async def client(assistant: Assistant) -> AsyncIterator[httpx.AsyncClient]:
    """Call a server without keys."""
    async with served(assistant) as url, httpx.AsyncClient(base_url=url, timeout=60) as calling:
        yield calling
