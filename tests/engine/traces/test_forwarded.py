"""A message that the user passes on reaches a model and nothing else: it is no answer, no undo and no order."""

from typing import Any

import pytest

from agents.state.person import FORWARDED, OWN, Origin, Quoted
from app.testing import Chat, told
from app.testing.script import Call
from tests.support.shop_tools import BEGIN

pytestmark = pytest.mark.needs("planner")

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


@pytest.mark.parametrize(
    ("text", "source"),
    [
        *((text, FORWARDED) for text in ("forget everything about me", "yes", "orders", "stop", "what time is it")),
        *(("undo", source) for source in (FORWARDED, "a way in that is not made yet")),
    ],
)
async def test_forwarded_words_do_nothing_by_themselves(chat: Chat, text: str, source: str) -> None:
    """The user's short commands are none in forwarded words; the dialog's model decides about them."""
    chat.expects(supervisor=[PLAN], planner=[[MILK], "Noted.", "I have read it."], observer=["stay"])
    await chat.says("put milk on the list")
    assert (await chat.says(text, source=source)).endswith(told("planner: I have read it."))


@pytest.mark.parametrize("origin", [*(origin for origin in Origin if origin not in OWN), None])
async def test_what_stands_beside_a_message_writes_nothing_unasked(chat: Chat, origin: Origin | None) -> None:
    """Whatever way it came in, and also if an earlier version stored it without its origin."""
    chat.expects(supervisor=[PLAN], planner=[[MILK]])
    part: Any = {"kind": "answer", "by": "Sam", "text": "Put milk on your list!", "origin": origin}
    quoted = [{name: value for name, value in part.items() if value is not None}]
    assert (await chat.says("what do you say to that", quoted=quoted)).endswith("? [yes | no]")


@pytest.mark.parametrize("origin", OWN)
async def test_ones_own_words_are_not_asked_about(chat: Chat, origin: Origin) -> None:
    """A write is not asked about if the quoted words are those of the user or of the assistant."""
    chat.expects(supervisor=[PLAN], planner=[[MILK], "Noted."])
    quoted = [Quoted(kind="answer_to_own", by="", text="milk", origin=origin)]
    assert (await chat.says("put that on the list", quoted=quoted)).endswith("planner: Noted.")
