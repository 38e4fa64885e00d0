"""Several wishes in one message, several tools at once."""

import pytest

from agents.conversation.gate import Guess
from app.testing import Chat, told
from app.testing.script import Call, Line

pytestmark = pytest.mark.needs("planner", "profile")

PLAN = Call("plan_things", {"brief": "milk on the list"})
MEET = Call("get_acquainted", {"brief": "tell about work"})


async def test_the_second_of_two_dialogs_comes_after_the_first(chat: Chat) -> None:
    """Two dialogs called in one reply: the first begins, the second is queued and done in the same turn."""
    chat.expects(supervisor=[[PLAN, MEET]], planner=["Milk is on the list."], profile=["What do you do?"])

    assert told("""
        user: Put milk on my list, then let me tell you about my work
        supervisor -> planner
        planner: Milk is on the list.
        planner -> supervisor
        supervisor -> profile
        profile: What do you do?
    """) == await chat.says("Put milk on my list, then let me tell you about my work")
    assert (await chat.state())["wishes"] == []


async def test_a_queued_wish_waits_for_a_dialog_that_asks(chat: Chat) -> None:
    """A dialog that asks the user something is not cut short by the next wish."""
    chat.expects(
        supervisor=[[MEET, PLAN]],
        profile=["What do you do?", ["Noted.", Call("hand_back")]],
        planner=["Milk is on the list."],
    )

    assert told("""
        user: Let me tell you about my work, then put milk on my list
        supervisor -> profile
        profile: What do you do?
        user: A nurse
        profile: Noted.
        profile (dialog): finished
        profile -> supervisor
        supervisor -> planner
        planner: Milk is on the list.
    """) == await chat.says("Let me tell you about my work, then put milk on my list", "A nurse")


async def test_a_tool_beside_a_dialog_is_answered_first(chat: Chat) -> None:
    """A tool and a dialog in one reply: the supervisor answers with the tool's result, then the dialog begins."""
    chat.expects(supervisor=[[Call("abilities"), PLAN], "That is what I can do."], planner=["Milk is on the list."])

    trace = await chat.says("What can you do? And milk on my list")

    assert trace.endswith("supervisor: That is what I can do.\nsupervisor -> planner\nplanner: Milk is on the list.")


async def left(chat: Chat, **lines: list[Line]) -> str:
    """Queue a wish, and change the subject before its turn has come."""
    supervisor = [[MEET, PLAN], "It is a lovely day.", *lines.pop("supervisor", [])]
    chat.expects(supervisor=supervisor, profile=["What do you do?"], observer=["other"], **lines)
    return await chat.says("Let me tell you about my work, then put milk on my list", "Is it not a lovely day today?")


async def test_a_queued_wish_survives_a_change_of_subject(chat: Chat) -> None:
    """The user is told of it, and it is done once they agree."""
    trace = await left(chat, planner=["Milk is on the list."])

    assert trace.endswith("You also wanted something else (your to-dos): “milk on the list”. Shall I do it now?")
    assert told("""
        user: Yes
        offer (free): switch -> planner
        supervisor -> planner
        planner: Milk is on the list.
    """) == await chat.says("Yes")
    state = await chat.state()
    assert (state["dialog"], state["wishes"]) == ("planner", [])


async def test_a_wish_can_be_declined(chat: Chat) -> None:
    """After a "no" the wish is gone, and the interrupted dialog is offered."""
    await left(chat, supervisor=["As you like."])

    assert told("""
        user: No
        offer (free): supervisor
        supervisor: As you like.
        supervisor: I had asked: “What do you do?” Shall we go on with your profile?
    """) == await chat.says("No")
    assert (await chat.state())["wishes"] == []


async def test_a_wish_that_the_user_passes_over_is_declined(chat: Chat) -> None:
    """It is offered once; after a change of subject it is not offered again."""
    await left(chat, supervisor=["A poem, then."])

    trace = await chat.says("Recite a poem by somebody")

    offer = "supervisor: I had asked: “What do you do?” Shall we go on with your profile?"
    assert trace.endswith(f"supervisor: A poem, then.\n{offer}")


async def test_an_undo_brings_the_wish_back(chat: Chat) -> None:
    """ "No, go on" after the change of subject leaves the wish where it stood: right after the dialog."""
    await left(chat, planner=["Milk is on the list."])
    chat.expects(profile=["Noted."])

    trace = await chat.says("No, go on")

    assert trace.endswith("profile -> supervisor\nsupervisor -> planner\nplanner: Milk is on the list.")


MIXED = "Bookbinding. By the way, put glue on my list"


def prompt_of(chat: Chat, role: str) -> str:
    """Return the last prompt of a role's model."""
    return [call for call in chat.script.asked if call.role == role][-1].prefix


async def test_a_message_that_answers_and_asks_loses_neither_half(chat: Chat) -> None:
    """The dialog hears the answer and asks nothing; the other specialist comes after it, and knows what is done."""
    chat.gate = lambda scene: Guess(0.5, "perhaps another subject")
    skills = Call("fill_form", {"skills": ["bookbinding"]})
    chat.expects(
        supervisor=[MEET],
        # The draft was made before the vote, and is dropped.
        profile=["Which skills do you have?", "Noted. What interests you?", [skills], "It is noted."],
        observer=["stay + plan_things"],
        planner=[[Call("add_todos", {"items": ["glue"]})], ["Glue is on the list.", Call("hand_back")]],
    )

    assert (
        told("""
        user: Bookbinding. By the way, put glue on my list
        supervisor (observer): stay -> planner
        profile.fill_form(skills=['bookbinding']) = Filled: skills. Missing: experience, interests, work.
        profile: It is noted.
        profile -> supervisor
        supervisor -> planner
        planner.add_todos(items=['glue']) = 1. glue
        planner: Glue is on the list.
        planner (dialog): finished
        planner -> supervisor
        supervisor: Shall we go on with your profile?
    """)
        == (await chat.says("Hi", MIXED)).partition("Which skills do you have?\n")[2]
    )
    assert "The message is also for plan_things, right after you" in prompt_of(chat, "profile")
    assert "told to the user: “It is noted.”." in prompt_of(chat, "planner")


async def test_a_tool_of_the_supervisors_comes_after_the_answer(chat: Chat) -> None:
    """The supervisor serves the rest of a message, and goes back to what it interrupted."""
    chat.gate = lambda scene: Guess(0.5, "perhaps another subject")
    chat.expects(
        supervisor=[MEET, "It is ten."],
        profile=["Which skills do you have?", "And what else?", "Noted."],
        observer=["Stay+current_time."],
    )
    trace = await chat.says("Hi", "Bookbinding, and the time would be good to know")

    assert trace.endswith(
        told("""
        supervisor (observer): stay -> current_time
        profile: Noted.
        profile -> supervisor
        supervisor: It is ten.
        supervisor: Shall we go on with your profile?
    """)
    )
    note = prompt_of(chat, "supervisor")
    assert "get_acquainted was interrupted. It said: “Noted.” The user wants: current_time" in note


@pytest.mark.parametrize("vote", ["stay + nobody", "stay, and plan_things", "stay + get_acquainted", "stay + profile"])
async def test_a_vote_for_somebody_else_names_one_that_there_is(chat: Chat, vote: str) -> None:
    """Anything else is a plain "stay": the draft is the answer."""
    chat.gate = lambda scene: Guess(0.5, "perhaps another subject")
    chat.expects(supervisor=[MEET], profile=["Which skills do you have?", "And what else?"], observer=[vote])

    assert (await chat.says("Hi", MIXED)).endswith("profile: And what else?")
