"""Endpoints: one whose models say what is laid out, and one that is not there."""

import socket
from collections.abc import Iterator

import pytest
from llmock.pytest_plugin import LLMock

from tests.support.endpoint_talk import calm


@pytest.fixture
def mock(llmock: LLMock) -> LLMock:
    """Start a provider whose models say what is laid out; the observers let every dialog go on."""
    return calm(llmock)


@pytest.fixture
def closed_port() -> Iterator[str]:
    """Return the address of a server that is not there."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
