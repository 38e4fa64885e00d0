"""A conversation in which an agent graph is the dialog."""

from collections.abc import Iterator

import pytest

from agents.toolkit.speaker import Speakers
from app.testing import Chat
from tests.plugins.agent_graphs.desk import PAID, SCRIPT
from tests.support.compiled import discovered


@pytest.fixture
def chat(chat: Chat) -> Iterator[Chat]:
    """Leave no dialog beside the desk: its graph is built for each test. See that the script within it is spoken."""
    chat.speakers = Speakers(chat.speakers.supervisor, {})
    PAID.clear()
    SCRIPT.queues.clear()
    SCRIPT.asked.clear()
    yield chat
    assert SCRIPT.left() == {}


@pytest.fixture
def planner(chat: Chat) -> None:
    """Put the planner back, to have a dialog to go to."""
    chat.speakers = Speakers(chat.speakers.supervisor, {"planner": discovered()[0]["planner"]})
