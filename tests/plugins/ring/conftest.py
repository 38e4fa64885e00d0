"""A session bus for the tests of `ring`."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.notification_server import session_bus


@pytest.fixture
async def bus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[str]:
    """A session bus of its own, to which the environment leads."""
    async with session_bus(tmp_path) as address:
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", address)
        yield address
