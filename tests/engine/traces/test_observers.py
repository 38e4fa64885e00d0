"""What observers see after an answer, while the user already reads it."""

import pytest

from agents.events import Message, Observed
from agents.models.script import Call
from tests.conftest import Chat, told

pytestmark = pytest.mark.needs("profile")

BEGIN = Call("get_acquainted", {"brief": "-"})
FULL = {"experience": "nurse", "skills": ["first aid"], "interests": ["hiking"], "work": "in a clinic"}


async def test_a_reached_goal_ends_the_dialog(chat: Chat) -> None:
    """When the form is complete and nothing is asked, the finished-observer may end the dialog."""
    chat.expects(
        supervisor=[BEGIN],
        profile=["What do you do?", Call("fill_form", FULL), "Now I know you."],
        observer=["yes"],
    )
    trace = await chat.says("Hi", "A nurse")

    assert trace.endswith("profile: Now I know you.\nfinished (observer): finished\nprofile -> supervisor")
    assert (await chat.state())["is_active"]


async def test_a_farewell_in_answer_to_a_question_ends_the_dialog(chat: Chat) -> None:
    """The finished-observer is asked before the dialog answers, whatever the gate says."""
    chat.expects(supervisor=[BEGIN, "See you, Ann."], profile=["What do you do?", "Wait!"], observer=["yes"])
    await chat.says("Hi")

    assert told("""
        user: That is all
        finished (observer): finished
        profile -> supervisor
        supervisor: See you, Ann.
    """) == await chat.says("That is all")


async def test_the_end_seen_beforehand_is_the_supervisors_to_answer(chat: Chat) -> None:
    """When nothing was asked, the observers vote before the dialog answers, and its draft is dropped."""
    chat.expects(
        supervisor=[BEGIN, "See you, Ann."],
        profile=["Tell me what you do.", "Wait!"],
        observer=["yes", "yes"],
    )
    await chat.says("Hi")

    assert told("""
        user: That is all
        finished (observer): finished
        profile -> supervisor
        supervisor: See you, Ann.
    """) == await chat.says("That is all")


async def test_post_checks_do_not_delay_the_answer(chat: Chat) -> None:
    """The answer is out before a post-check has begun."""
    chat.expects(
        supervisor=[BEGIN],
        profile=["What do you do?", "A fine plan."],
        observer=["stay", '{"intent": "a job as a nurse"}'],
    )
    await chat.says("Hi", "Looking for a job")

    order = [type(event) for event in chat.events if isinstance(event, Message | Observed)]
    assert order[-2:] == [Message, Observed]
