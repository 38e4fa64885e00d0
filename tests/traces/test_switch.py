"""The user changes the subject: observers see it, the supervisor handles the same message, nothing gets lost."""

from agents.models.script import Call
from agents.state import SUPERVISOR
from tests.conftest import Chat, told

BEGIN = Call("get_acquainted", {"brief": "wants to get acquainted"})
PLAN = Call("plan_things", {"brief": "wants milk on the list"})


async def test_a_switch_is_seen_by_the_observer(chat: Chat) -> None:
    """The observer hears the switch; the same message reaches the new dialog, and only that one."""
    chat.expects(
        supervisor=[BEGIN, PLAN],
        profile=["What do you do?"],
        observer=["planner"],
        planner=[Call("add_todos", {"items": ["milk"]}), "Milk is on the list."],
    )

    assert told("""
        user: Let's get acquainted
        supervisor -> profile
        profile: What do you do?
        user: Forget it, put milk on my list
        supervisor (observer): switch -> planner
        profile -> supervisor
        supervisor -> planner
        planner.add_todos(items=['milk']) = 1. milk
        planner: Milk is on the list.
    """) == await chat.says("Let's get acquainted", "Forget it, put milk on my list")
    assert (await chat.state())["paused"] == ["profile"]
    heard = [message.text for message in await chat.messages("planner") if message.type == "human"]
    assert heard == ["Forget it, put milk on my list"]
    assert "Forget it, put milk on my list" not in [m.text for m in await chat.messages("profile")]


async def test_a_draft_is_thrown_away_on_a_switch(chat: Chat) -> None:
    """What the dialog drafted beside the observer leaves no trace: not on screen, not in its history."""
    chat.expects(
        supervisor=[BEGIN, PLAN],
        profile=["What do you do?", "You buy milk for a living?"],
        observer=["planner"],
        planner=["Milk it is."],
    )
    await chat.says("Let's get acquainted")

    assert told("""
        user: Milk belongs on the list of things I have to buy this week
        supervisor (observer): switch -> planner
        profile -> supervisor
        supervisor -> planner
        planner: Milk it is.
    """) == await chat.says("Milk belongs on the list of things I have to buy this week")
    assert "You buy milk for a living?" not in [m.text for m in await chat.messages("profile")]
    assert "living" not in "".join(str(event) for event in chat.events)


async def test_staying_costs_the_observer_but_not_the_draft(chat: Chat) -> None:
    """When the observer lets the message stay, the draft that was made beside it is the answer."""
    chat.expects(supervisor=[BEGIN], profile=["What do you do?", "Ten years!"], observer=["stay"])
    await chat.says("Let's get acquainted")

    assert told("""
        user: I have been a nurse in a small hospital by the sea for ten long years
        profile: Ten years!
    """) == await chat.says("I have been a nurse in a small hospital by the sea for ten long years")


async def test_a_short_answer_is_not_watched(chat: Chat) -> None:
    """The gate lets a short answer to a question pass without any observer."""
    chat.expects(supervisor=[BEGIN], profile=["What do you do?", "A nurse, good."])
    await chat.says("Let's get acquainted")

    assert await chat.says("A nurse") == "user: A nurse\nprofile: A nurse, good."
    assert "gate (gate): stay" in [str(event) for event in chat.events]


async def test_the_very_first_message_to_a_dialog_can_switch(chat: Chat) -> None:
    """A dialog that is given the wrong message hands it back at once, and the supervisor handles it."""
    chat.expects(
        supervisor=[BEGIN, PLAN],
        profile=[Call("hand_back", {"wish": "this is about to-dos"})],
        planner=["Milk is on the list."],
    )

    assert told("""
        user: Milk, please
        supervisor -> profile
        profile (dialog): supervisor
        profile -> supervisor
        supervisor -> planner
        planner: Milk is on the list.
    """) == await chat.says("Milk, please")


async def test_a_message_nobody_is_for_goes_to_the_supervisor(chat: Chat) -> None:
    """The verdict "own" lets the supervisor talk, and it offers to go on with what was interrupted."""
    chat.expects(supervisor=[BEGIN, "It is a lovely day."], profile=["What do you do?"], observer=["own"])
    await chat.says("Let's get acquainted")

    assert told("""
        user: Is it not a lovely day today?
        supervisor (observer): supervisor
        profile -> supervisor
        supervisor: It is a lovely day.
        supervisor: Shall we go on with your profile?
    """) == await chat.says("Is it not a lovely day today?")


async def test_an_observer_that_fails_lets_the_dialog_go_on(chat: Chat) -> None:
    """A failing observer is recorded and counts as "stay"."""
    chat.expects(supervisor=[BEGIN], profile=["What do you do?", "I see."], observer=[RuntimeError("broken")])
    await chat.says("Let's get acquainted")

    assert await chat.says("Is that so?") == "user: Is that so?\nprofile: I see."


async def test_undo_takes_a_wrong_switch_back(chat: Chat) -> None:
    """ "No, go on" right after a switch gives the message that caused it to the dialog it was taken from."""
    chat.expects(
        supervisor=[BEGIN, PLAN],
        profile=["What do you do?", "You deliver milk, noted."],
        observer=["planner"],
        planner=["Shall I put milk on the list?"],
    )
    await chat.says("Let's get acquainted", "Never mind that, it is milk")

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
    """A loop of hand-overs is stopped by the hop counter, and the supervisor answers itself."""
    chat.expects(
        supervisor=[BEGIN, BEGIN, BEGIN, BEGIN, "I will take this myself."],
        profile=[Call("hand_back", {"wish": "not mine"})] * 3,
    )

    trace = await chat.says("Whose is this?")

    assert trace.count("supervisor -> profile") == 3
    assert trace.endswith("supervisor: I will take this myself.")
    assert any("changed hands too often" in message.text for message in await chat.messages(SUPERVISOR))


async def test_after_an_undo_the_dialog_cannot_pass_the_message_on(chat: Chat) -> None:
    """What the user has taken back stays where it is, even if the dialog would hand it back."""
    chat.expects(
        supervisor=[BEGIN, PLAN],
        profile=["What do you do?", Call("hand_back", {"wish": "about milk"}), "So, what do you do?"],
        observer=["planner"],
        planner=["Shall I put milk on the list?"],
    )
    await chat.says("Let's get acquainted", "Never mind that, it is milk")

    assert (await chat.says("No, go on")).endswith("supervisor -> profile\nprofile: So, what do you do?")
