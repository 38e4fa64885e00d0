"""The end of a dialog, around processes that are killed: what it leaves in long-term memory is kept once."""

import pytest

from agents.toolkit.services import LongTermMemory
from app.testing import Chat
from tests.engine.processes.test_kill_question import killed
from tests.support.killable_process import Driver

BYE = "that's all, thanks"
pytestmark = [pytest.mark.slow, pytest.mark.needs("recall", "planner"), pytest.mark.usefixtures("second_life")]


async def kept(chat: Chat) -> list[str]:
    """Return the memory of Ann."""
    async with chat.assistant() as assistant:
        [memory] = assistant.services.every(LongTermMemory)
        return [str(entry["text"]) for entry in await memory.entries("ann")]


async def test_an_end_is_kept_once(chat: Chat, driver: Driver) -> None:
    """The turn that ends the dialog is killed at any step; the same message again and again leaves one entry."""
    cuts = 0
    async for outcome in killed(chat, driver, "some milk", text=BYE):
        cuts += outcome.killed
        for _ in range(2):
            await chat.says(BYE, id="m")
        async with chat.assistant() as assistant:
            await assistant.conclude("ann")
        [text] = await kept(chat)
        assert "milk" in text
    assert cuts >= 2
