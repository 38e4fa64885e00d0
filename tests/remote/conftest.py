"""A shop whose tools the planner has."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Chat
from tests.support.http_service import Answer, Service
from tests.support.places import ROOT
from tests.support.remote_files import Open, opened, shop


@pytest.fixture
def service(chat: Chat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Open:
    """Open a shop that gives these answers, and let the planner have its tools."""
    monkeypatch.setenv("SHOP_TOKEN", "s3cret")

    @asynccontextmanager
    async def serving(*answers: Answer, **settings: Any) -> AsyncIterator[Service]:
        async with (
            Service.open(*answers) as service,
            opened(tmp_path, chat.speakers, http=shop(service.url, **settings)) as chat.speakers,
        ):
            yield service

    return serving


@pytest.fixture
def shelf(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set what the server is told."""
    monkeypatch.setenv("LIBRARY_SHELF", "A1")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
