"""A conversation in which an agent graph is the dialog."""

from collections.abc import Iterator

import pytest

from agents.toolkit.speaker import Speakers
from app.testing import Chat
from tests.plugins.agent_graphs.desk import PAID, SCRIPT


@pytest.fixture
def chat(chat: Chat) -> Iterator[Chat]:
    """Leave one dialog more to go to, since the graph is built for each test; see that the graph's script is spoken."""
    chat.speakers = Speakers(
        chat.speakers.supervisor, {name: dialog for name, dialog in chat.speakers.dialogs.items() if name == "planner"}
    )
    PAID.clear()
    SCRIPT.queues.clear()
    SCRIPT.asked.clear()
    yield chat
    assert SCRIPT.left() == {}
