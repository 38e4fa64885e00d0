"""Fixtures of pytest for tests of conversations; a `conftest.py` imports them."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, BaseMessage

from app.testing import Chat

FOLLOWS = {
    "start": {"system"},
    "system": {"human"},
    "human": {"ai", "call"},
    "ai": {"human"},
    "call": {"tool"},
    "tool": {"ai", "call"},
}
"""The roles that may follow a role; "call" is a reply with a tool call."""


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
    asked_with = [request.messages for request in talk.script.asked if request.messages]
    assert [faults for messages in asked_with if (faults := order_faults(messages))] == []


def order_faults(messages: Sequence[BaseMessage]) -> list[str]:
    """Return the faults of a prompt for a strict chat template; empty for a prompt that all templates take."""
    faults, before = [], "start"
    for message in messages:
        calls = message.tool_calls if isinstance(message, AIMessage) else []
        role = "call" if calls else message.type
        if role not in FOLLOWS[before]:
            faults.append(f"{role} behind {before}")
        if len(calls) > 1:
            faults.append("several calls in one reply")
        if calls and message.text:
            faults.append("a text beside a call")
        before = role
    return faults if before in ("human", "tool") else [*faults, f"{before} stands last"]
