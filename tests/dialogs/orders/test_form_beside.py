"""A dialog with a form whose tools let the user choose: with `local:rules` both are asked, one after the other."""

from dataclasses import replace

import pytest
from pydantic import BaseModel

from agents.models import Model, Models
from agents.toolkit.speaker import Speakers
from app.testing import Chat
from tests.dialogs.orders.files import fill_with_catalogue, writes
from tests.support.rules import RulesModel

AT = {"thread": "me", "device": "terminal"}


class Remarks(BaseModel):
    """The shop's questions to its customer."""

    remark: str | None = None
    praise: str | None = None


@pytest.fixture
def shop(chat: Chat) -> Chat:
    """The customer of a fresh terminal, before a shop that has a form of its own."""
    fill_with_catalogue(chat.path)
    chat.as_shipped()
    dialogs = dict(chat.speakers.dialogs)
    dialogs["orders"] = replace(dialogs["orders"], form=Remarks)
    chat.speakers = Speakers(chat.speakers.supervisor, dialogs)
    chat.models = Models(default=Model("local:rules", RulesModel()))
    return chat


async def test_what_a_tool_needs_is_chosen(shop: Chat) -> None:
    """The order, the way of the refund and the yes are asked for; the form's question is not open before it is seen."""
    assert "selector: Which payment method?" in await shop.says("I want to return the boots", **AT)
    assert "confirm: Return from order D1001" in await shop.says("2", **AT)
    assert "return requested" in await shop.says("yes", **AT)
    assert writes(shop.path) == ["D1001"]
    trace = await shop.says("fine boots", **AT)
    assert "fill_form" not in trace
    assert trace.endswith("What should “remark” be?")
    assert "remark: “sturdy soles”" in await shop.says("sturdy soles", **AT)
    assert "remark – sturdy soles" in await shop.says("yes", **AT)


async def test_an_aside_keeps_the_choice_open(shop: Chat) -> None:
    """The tool's question is put again, not the form's, and the answer reaches it."""
    await shop.says("I want to return the boots", **AT)
    trace = await shop.says("how are you?", **AT)
    assert "selector: Which payment method?" in trace
    assert "remark" not in trace
    assert "confirm: Return from order D1001" in await shop.says("2", **AT)
    assert "return requested" in await shop.says("yes", **AT)
    assert writes(shop.path) == ["D1001"]


async def test_a_no_declines_and_the_form_goes_on(shop: Chat) -> None:
    """Nothing is written, and what the form asks for is asked."""
    await shop.says("I want to return the boots", "2", **AT)
    assert (await shop.says("no", **AT)).endswith("What should “remark” be?")
    assert writes(shop.path) == []
