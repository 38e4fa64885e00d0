"""Going back to an earlier turn: the conversation is as it was then, and what was done stays done."""

import pytest

from agents.errors import UsageError
from app.assistant import Turn
from app.plugins.lab.going_back import go_back
from app.testing import Chat, told
from app.testing.script import Call
from tests.support.shop_tools import BEGIN, with_shop

pytestmark = pytest.mark.needs("planner", "profile")

BACK = "We are back."
LIST = Call("plan_things", {"brief": "-"})
MILK = Call("add_todos", {"items": ["milk"]})


async def back(chat: Chat, turn: int) -> None:
    """Go back in the thread."""
    async with chat.assistant() as assistant:
        assert (await go_back(assistant, "ann", turn, BACK)).text == BACK


async def test_the_conversation_is_as_it_was_and_the_transcript_says_so(chat: Chat) -> None:
    """The dialog of that turn has the conversation again, with its history; later lines stay, turns are counted on."""
    chat.expects(
        supervisor=[Call("get_acquainted", {"brief": "-"})],
        profile=["What do you do?", "…", "A nurse, then."],
        observer=["planner"],
        planner=[MILK, "Milk is on it."],
    )
    await chat.says("Hi", "Put milk on my list")
    assert (await chat.state())["dialog"] == "planner"
    await back(chat, 1)
    assert [(await chat.state())[key] for key in ("dialog", "paused", "turn")] == ["profile", [], 2]

    assert told("""
        user: A nurse
        profile: A nurse, then.
    """) == await chat.says("A nurse")
    heard = [message.text for message in await chat.messages("profile")]
    assert heard[-4:] == ["What do you do?", BACK, "A nurse", "A nurse, then."]
    async with chat.assistant() as assistant:
        lines = [(line.turn, line.text) for line in await assistant.history("ann")]
        assert lines[-4:] == [(2, "Milk is on it."), (2, BACK), (3, "A nurse"), (3, "A nurse, then.")]
        assert [*await assistant.branches.kept_turns("ann")] == [3, 2, 1]


async def test_what_was_done_stays_done_and_the_turn_that_was_left_can_be_gone_back_to(chat: Chat) -> None:
    """An item that a later turn wrote is there still; a turn's number stands for that turn alone."""
    chat.expects(supervisor=[LIST], planner=["What shall I write?", MILK, "Milk is on it.", "It is there already."])
    await chat.says("Hi", "milk")
    await back(chat, 1)
    assert "Milk is on it." not in [message.text for message in await chat.messages("planner")]
    await back(chat, 2)
    assert "Milk is on it." in [message.text for message in await chat.messages("planner")]
    await chat.says("And milk")
    async with chat.assistant() as assistant:
        [item] = await assistant.memory.store.asearch(("users", "ann", "todos"))
    assert item.value["text"] == "milk"


async def test_a_question_that_was_open_is_open_again(chat: Chat) -> None:
    """A choice that the user has left since can be made after all."""
    chat.speakers = with_shop(chat.speakers)
    chat.expects(
        supervisor=[*BEGIN, "It is sunny."],
        planner=[Call("choose_order"), "…", "The red hat it is."],
        observer=["other"],
    )
    await chat.says("I want to return something", "What's the weather like tomorrow in Rome?")
    assert (await chat.state())["pending"] == []
    await back(chat, 1)
    assert len((await chat.state())["pending"]) == 1
    assert "planner: The red hat it is." in await chat.says("2")


async def test_only_what_is_kept_can_be_gone_back_to(chat: Chat) -> None:
    """A turn that never was, or where the thread is already, is refused; nothing is told then."""
    chat.expects(supervisor=["Hello!", "Well?"])
    await chat.says("Hi", "Hm")
    for turn, why in ((0, "not kept"), (7, "not kept"), (2, "already")):
        with pytest.raises(UsageError, match=why):
            await back(chat, turn)
    async with chat.assistant() as assistant:
        assert BACK not in [line.text for line in await assistant.history("ann")]


async def test_an_unanswered_message_comes_first(chat: Chat) -> None:
    """A message that a crash left unanswered is not dropped by going back."""
    chat.expects(supervisor=["Hello!", "Well?"])
    await chat.says("Hi", "Hm")
    async with chat.assistant() as assistant:
        await assistant.receive(Turn(thread="ann", text="Still here?"))
    with pytest.raises(UsageError, match="not answered yet"):
        await back(chat, 1)
