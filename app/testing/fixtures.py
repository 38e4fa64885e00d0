"""Fixtures of pytest for tests of conversations; a `conftest.py` imports them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.testing import Chat
from app.testing.prompt_order import order_faults


@pytest.fixture
def database(tmp_path: Path) -> str:
    """Return the address of a fresh database."""
    return f"sqlite:///{tmp_path / 'dialogs.db'}"


@pytest.fixture
def chat(tmp_path: Path, database: str) -> Iterator[Chat]:
    """A new conversation; unspoken lines fail the test, and so do prompts that a strict chat template refuses."""
    talk = Chat(tmp_path / "dialogs.db", None if database.startswith("sqlite") else database)
    yield talk
    assert talk.script.left() == {}
    asked_with = [asked.messages for asked in talk.script.asked if asked.messages]
    assert [faults for messages in asked_with if (faults := order_faults(messages))] == []
