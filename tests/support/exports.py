"""Export a thread, and read its records."""

import sys

import pytest

from app.assistant.records import Record
from app.cli.threads import Form
from app.cli.threads import exported as text_of
from app.settings import Settings
from app.testing import Chat
from app.testing.script import Call

Captured = pytest.CaptureFixture[str]
MEET = Call("get_acquainted", {"brief": "wants to get acquainted"})


async def exported(chat: Chat, *, thread: str = "ann", form: Form = "markdown") -> None:
    """Print a thread's export from the conversation's database."""
    sys.stdout.write(await text_of(Settings(database_url=f"sqlite:///{chat.path}"), thread, form))


async def turns(chat: Chat, thread: str = "ann") -> list[Record]:
    """Return the records of a thread."""
    async with chat.assistant() as assistant:
        return await assistant.records(thread)
