"""Several wishes in one message, several tools at once."""

from agents.models.script import Call
from tests.conftest import Chat, told

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


async def test_a_dialog_passes_on_what_is_not_its_own(chat: Chat) -> None:
    """A dialog does its part and hands the rest back; the supervisor answers in the same turn."""
    chat.expects(
        supervisor=[PLAN, "It is ten."],
        planner=[["Milk is on the list.", Call("hand_back", {"wish": "what time is it?"})]],
    )

    assert told("""
        user: Put milk on my list and tell me the time
        supervisor -> planner
        planner: Milk is on the list.
        planner (dialog): supervisor
        planner -> supervisor
        supervisor: It is ten.
    """) == await chat.says("Put milk on my list and tell me the time")


async def test_two_tool_calls_at_once_are_both_answered(chat: Chat) -> None:
    """Two calls in one reply run side by side, and each has its answer in the history."""
    chat.expects(
        supervisor=[PLAN],
        planner=[
            [Call("add_todos", {"items": ["milk", "bread"]}), Call("list_todos")],
            "Both are on the list.",
        ],
    )

    trace = await chat.says("Milk and bread")

    assert "planner.add_todos(items=['milk', 'bread']) = 1. milk\n2. bread" in trace
    assert len([message for message in await chat.messages("planner") if message.type == "tool"]) == 2
