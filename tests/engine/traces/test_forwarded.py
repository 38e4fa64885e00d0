"""A message that the user passes on reaches a model and nothing else: it is no answer, no undo and no order."""

import pytest

from agents.models.script import Call
from agents.state.person import FORWARDED
from tests.conftest import Chat, told
from tests.support.shop_tools import BEGIN

MILK = Call("add_todos", {"items": ["milk"]})
PLAN = Call("plan_things", {"brief": "-"})


@pytest.mark.usefixtures("shop")
async def test_a_forwarded_number_answers_no_question(chat: Chat) -> None:
    """Somebody else's "2" chooses no order."""
    chat.expects(supervisor=BEGIN, planner=[Call("choose_order"), "I have read it."], observer=["stay"])
    await chat.says("I want to return something")
    assert "Red hat" not in (trace := await chat.says("2", source=FORWARDED))
    assert "planner: I have read it." in trace
    assert not (await chat.state()).get("pending")


@pytest.mark.parametrize("text", ["undo", "forget everything about me", "yes", "orders", "stop", "what time is it"])
async def test_forwarded_words_do_nothing_by_themselves(chat: Chat, text: str) -> None:
    """What the user may say in a word, somebody else may not; the dialog's model is asked about it."""
    chat.expects(supervisor=[PLAN], planner=[[MILK], "Noted.", "I have read it."], observer=["stay"])
    await chat.says("put milk on the list")
    assert (await chat.says(text, source=FORWARDED)).endswith(told("planner: I have read it."))
