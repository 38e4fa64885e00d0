"""A fresh database for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agents.memory import Memory
from app.databases import backend_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Name the database file of a test, which then runs on SQLite alone."""
    return tmp_path / "var" / "dialogs.db"


@pytest.fixture
async def memory(request: pytest.FixtureRequest, database: str) -> AsyncIterator[Memory]:
    """Open a fresh database."""
    has_file = "path" in request.fixturenames
    async with backend_of(f"sqlite:///{request.getfixturevalue('path')}" if has_file else database).open() as opened:
        yield opened
