"""The user changes the subject: observers see it, the right speaker handles the same message, nothing gets lost."""

import pytest

from agents.conversation.gate import Guess
from agents.state import SUPERVISOR
from app.testing import Chat, told
from app.testing.script import Call

pytestmark = pytest.mark.needs("planner", "profile")

BEGIN = Call("get_acquainted", {"brief": "wants to get acquainted"})
PLAN = Call("plan_things", {"brief": "wants milk on the list"})


async def test_a_switch_is_seen_by_the_observer(chat: Chat) -> None:
    """The observer names the dialog, which takes over with the same message: three calls, none of the supervisor's."""
    chat.expects(
        supervisor=[BEGIN],
        profile=["What do you do?"],
        observer=["planner"],
        planner=[Call("add_todos", {"items": ["milk"]}), "Milk is on the list."],
    )

    assert told("""
        user: Hi, I have just joined
        supervisor -> profile
        profile: What do you do?
        user: Forget it, put milk on my list
        supervisor (observer): switch -> planner
        profile -> supervisor
        supervisor -> planner
        planner.add_todos(items=['milk']) = 1. milk
        planner: Milk is on the list.
    """) == await chat.says("Hi, I have just joined", "Forget it, put milk on my list")
    assert [call.role for call in chat.script.asked[2:]] == ["observer", "planner", "planner"]
    assert (await chat.state())["paused"] == ["profile"]
    heard = [message.text for message in await chat.messages("planner") if message.type == "human"]
    assert heard == ["Forget it, put milk on my list"]
    assert "Forget it, put milk on my list" not in [m.text for m in await chat.messages("profile")]


@pytest.mark.parametrize(
    ("lang", "note"), [("en", "Done: plan_things has taken over"), ("ru", "разговор ведёт plan_things")]
)
async def test_the_supervisor_knows_of_a_switch_it_was_not_asked_about(chat: Chat, lang: str, note: str) -> None:
    """Its history gets the message, and the handoff as if it had called the dialog."""
    chat.gate = lambda scene: Guess(0.9, "surely another subject")
    chat.expects(supervisor=[BEGIN], profile=["What do you do?"], observer=["planner"], planner=["Milk it is."])
    await chat.says("Hi, I have just joined", "Forget it, milk!", lang=lang)

    *_, heard, call, result = await chat.messages(SUPERVISOR)
    assert heard.text == "Forget it, milk!"
    assert [(each["name"], each["args"]) for each in call.tool_calls] == [
        ("plan_things", {"brief": "Forget it, milk!"})
    ]
    assert (result.tool_call_id, note in result.text) == (call.tool_calls[0]["id"], True)


async def test_a_dialog_that_took_over_can_give_the_message_back(chat: Chat) -> None:
    """The named dialog finds that the message is not its own; then the supervisor is asked after all."""
    chat.expects(
        supervisor=[BEGIN, "It is ten."],
        profile=["What do you do?"],
        observer=["planner"],
        planner=[Call("hand_back", {"wish": "asks for the time"})],
    )

    assert (
        told("""
        user: Wait, is it ten?
        supervisor (observer): switch -> planner
        profile -> supervisor
        supervisor -> planner
        planner (dialog): supervisor
        planner -> supervisor
        supervisor: It is ten.
        supervisor: I had asked: “What do you do?” Shall we go on with your profile?
    """)
        == (await chat.says("Hi, I have just joined", "Wait, is it ten?")).partition("What do you do?\n")[2]
    )
    assert [m.text for m in await chat.messages(SUPERVISOR)].count("Wait, is it ten?") == 1


async def test_a_draft_is_thrown_away_on_a_switch(chat: Chat) -> None:
    """The dialog's draft beside the observer leaves no trace: not on screen, not in its history."""
    chat.expects(
        supervisor=[BEGIN],
        profile=["What do you do?", "You buy milk for a living?"],
        observer=["planner"],
        planner=["Milk it is."],
    )
    await chat.says("Hi, I have just joined")

    assert told("""
        user: Milk belongs on the list of things I have to buy this week
        supervisor (observer): switch -> planner
        profile -> supervisor
        supervisor -> planner
        planner: Milk it is.
    """) == await chat.says("Milk belongs on the list of things I have to buy this week")
    assert "You buy milk for a living?" not in [m.text for m in await chat.messages("profile")]
    assert "living" not in "".join(str(event) for event in chat.events)


async def test_undo_takes_a_wrong_switch_back(chat: Chat) -> None:
    """ "No, go on" right after a switch gives the message that caused it to the dialog it was taken from."""
    chat.expects(
        supervisor=[BEGIN],
        profile=["What do you do?", "You deliver milk, noted."],
        observer=["planner"],
        planner=["Shall I put milk on the list?"],
    )
    await chat.says("Hi, I have just joined", "Never mind that, it is milk")

    assert told("""
        user: No, go on
        undo (free): switch -> profile
        planner -> supervisor
        supervisor -> profile
        profile: You deliver milk, noted.
    """) == await chat.says("No, go on")
    assert [m.text for m in await chat.messages("profile") if m.type == "human"][-1] == "Never mind that, it is milk"
    state = await chat.state()
    assert (state["dialog"], state["is_active"], state["paused"]) == ("profile", False, [])


async def test_two_dialogs_can_pass_the_user_on_only_so_often(chat: Chat) -> None:
    """A loop of handoffs is stopped by the hop counter, and the supervisor answers itself."""
    chat.expects(
        supervisor=[BEGIN, BEGIN, BEGIN, BEGIN, "I will take this myself."],
        profile=[Call("hand_back", {"wish": "not mine"})] * 3,
    )

    trace = await chat.says("Whose is this?")

    assert trace.count("\nsupervisor -> profile") == 3
    assert trace.endswith("handoff (free): supervisor -> profile\nsupervisor: I will take this myself.")
    assert any("changed hands too often" in message.text for message in await chat.messages(SUPERVISOR))


async def test_a_dialog_that_insists_after_an_undo_is_let_go(chat: Chat) -> None:
    """Its second try in a turn counts, so that no model is asked again and again."""
    again = Call("hand_back", {"wish": "Never mind that, it is milk"})
    chat.expects(
        supervisor=[BEGIN, "I will take this myself."],
        profile=["What do you do?", again, again],
        observer=["planner"],
        planner=["Shall I put milk on the list?"],
    )
    await chat.says("Hi, I have just joined", "Never mind that, it is milk")

    trace = await chat.says("No, go on")

    assert trace.count("supervisor -> profile") == 1
    assert "supervisor: I will take this myself." in trace


async def test_a_call_by_name_can_be_taken_back(chat: Chat) -> None:
    """ "No, go on" after `/go` or a name alone leads back to the dialog, which says where it stood, without a model."""
    chat.expects(supervisor=[BEGIN], profile=["What do you do?"], planner=["Your list is empty."])
    await chat.says("Hi, I have just joined", "planner")

    trace = await chat.says("No, go on")

    assert trace.startswith("user: No, go on\nundo (free): switch -> profile\nplanner -> supervisor")
    assert "profile: Back to your profile." in trace
    state = await chat.state()
    assert (state["dialog"], state["paused"]) == ("profile", [])
