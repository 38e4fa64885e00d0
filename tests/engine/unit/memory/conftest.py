"""A fresh database for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agents.memory import Memory, open_memory


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Name the database file of a test."""
    return tmp_path / "var" / "dialogs.db"


@pytest.fixture
async def memory(path: Path) -> AsyncIterator[Memory]:
    """Open a fresh database."""
    async with open_memory(f"sqlite:///{path}") as opened:
        yield opened
