"""Exporting a thread, and what is recorded of it."""

from argparse import Namespace

import pytest

from agents.models.script import Call
from app.cli.export import export
from app.recording.record import Record
from app.settings import Settings
from tests.conftest import Chat

Captured = pytest.CaptureFixture[str]
MEET = Call("get_acquainted", {"brief": "wants to get acquainted"})


async def exported(chat: Chat, **options: object) -> None:
    """Export the thread from the conversation's database."""
    arguments = Namespace(**{"thread": "ann", "format": "markdown", "as_test": False, **options})
    assert await export(arguments, Settings(database_url=f"sqlite:///{chat.path}")) == 0


async def turns(chat: Chat, thread: str = "ann") -> list[Record]:
    """Return what is recorded of a thread."""
    async with chat.assistant() as assistant:
        return await assistant.records(thread)
