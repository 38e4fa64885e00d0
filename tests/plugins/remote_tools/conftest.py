"""A shop whose tools the planner has."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from app.testing import Chat
from tests.engine.models.conftest import mock as mock
from tests.plugins.remote_tools.remote_files import Open, opened, shop
from tests.support.http_service import Answer, Service
from tests.support.loopback import free_port
from tests.support.places import ROOT


@pytest.fixture
def chat(chat: Chat) -> Chat:
    """A conversation in which the supervisor's model hands over to the planner."""
    chat.settings = chat.settings.model_copy(update={"direct_switch": False})
    return chat


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


@pytest.fixture(scope="session")
def library_port() -> Iterator[int]:
    """Run the library on a port of loopback, once for all tests; its sessions count for themselves."""
    port = free_port()
    command = [sys.executable, "-m", "tests.plugins.remote_tools.mcp_server", "http", str(port)]
    process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, "SHELF": "A1"})
    try:
        ends = time.monotonic() + 120
        while not _listens(port):
            assert process.poll() is None, "the library has ended"
            assert time.monotonic() < ends, "the library does not listen"
            time.sleep(0.05)
        yield port
    finally:
        process.kill()
        process.wait()


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except ConnectionRefusedError:
        return False
    return True


@pytest.fixture
def shelf(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set what the server is told."""
    monkeypatch.setenv("LIBRARY_SHELF", "A1")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
