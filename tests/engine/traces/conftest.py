"""Fixtures of conversations: a shop."""

import pytest

from app.testing import Chat
from tests.support.shop_tools import RETURNS, with_shop


@pytest.fixture
def shop(chat: Chat) -> None:
    """Give the conversation a shop."""
    chat.speakers = with_shop(chat.speakers)
    RETURNS.clear()
