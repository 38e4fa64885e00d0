"""The rehearsal before the first message."""

import agents.models.openai_chat  # noqa: F401  # its types are built when it is loaded
from app.assistant.warm_up import warm_up
from tests.conftest import Chat


async def test_a_rehearsal_leaves_nothing_and_asks_nobody(chat: Chat) -> None:
    """It talks on a database of its own, with models of its own; a dialog that is not there has no prompt."""
    async with chat.assistant() as assistant:
        await warm_up(assistant, ["en"])
        assert await assistant.threads() == []
        assert assistant.prompt("gone", "en") == ""
    assert chat.script.asked == []
