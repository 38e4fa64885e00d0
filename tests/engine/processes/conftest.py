"""Processes that are killed while they write and ask, and the conversation that goes on after them."""

from collections.abc import AsyncIterator

import pytest

from app.testing import Chat
from tests.support.killable_process import Driver
from tests.support.killable_writes import Clerk, with_questions
from tests.support.write_tools import Desk


@pytest.fixture
def second_life(chat: Chat) -> None:
    """Let the conversation be the second life of the processes that are killed."""
    chat.script, chat.speakers = Clerk(life=1), with_questions(Desk(chat.path).with_desk(chat.speakers))


@pytest.fixture
async def driver() -> AsyncIterator[Driver]:
    """Start a driver of processes that write and ask."""
    async with Driver.start("tests.support.killable_writes") as started:
        yield started
