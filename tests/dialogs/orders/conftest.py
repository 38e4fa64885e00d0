"""A shop of our own, whose customer talks to the rules."""

import pytest

from agents.models import Model, Models
from app.testing import Chat
from tests.dialogs.orders.files import fill_with_catalogue
from tests.support.rules import RulesModel


@pytest.fixture
def shop(chat: Chat) -> Chat:
    """The customer of a fresh terminal, before the shop of the catalogue, and the rules in every part."""
    fill_with_catalogue(chat.path)
    chat.as_shipped()
    chat.models = Models(default=Model("local:rules", RulesModel()))
    return chat
