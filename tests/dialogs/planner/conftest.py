"""A database, and a conversation, on a Friday."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from app.assistant import Assistant
from app.testing import Chat
from tests.dialogs.planner.room import Room

NOW = datetime(2026, 11, 20, 9, tzinfo=ZoneInfo("UTC"))


@pytest.fixture
def room(tmp_path: Path) -> Room:
    """A new database on a Friday at ten."""
    return Room(tmp_path / "dialogs.db")


class FridayChat(Chat):
    """A conversation whose reminders' clock stands at nine in Greenwich on a Friday."""

    @asynccontextmanager
    async def assistant(self) -> AsyncIterator[Assistant]:
        """Open the database anew."""
        self.now = NOW.timestamp
        async with super().assistant() as assistant:
            yield assistant


@pytest.fixture
def friday(tmp_path: Path) -> Iterator[Chat]:
    """A new conversation on a Friday; lines of the script that nobody spoke fail the test."""
    talk = FridayChat(tmp_path / "dialogs.db")
    yield talk
    assert talk.script.left() == {}
