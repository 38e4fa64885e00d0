"""An assistant whose models play a script."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agents.models.script import Script
from app.assistant import Assistant
from tests.support.scripted_assistant import ROLES, stage


@pytest.fixture
def script() -> Script:
    """Lay out what the models say."""
    return Script()


@pytest.fixture
async def assistant(tmp_path: Path, script: Script) -> AsyncIterator[Assistant]:
    """Open the application with the script's models."""
    async with stage(tmp_path / "stop.db", script.models(ROLES)) as opened:
        yield opened
