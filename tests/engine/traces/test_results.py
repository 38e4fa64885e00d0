"""Results of tools: objects for the model, views for the screen, numbers for identifiers, nothing forged."""

import pytest

from agents.events import Message
from agents.events.views import CardList, Notice, read_view
from app.testing import Chat, told
from app.testing.script import Call, Line
from prompts import phrase
from tests.support.shop_tools import BEGIN, HAT, ORDERS, RETURNS

pytestmark = [pytest.mark.usefixtures("shop"), pytest.mark.needs("planner")]


async def test_words_stand_below_the_view(chat: Chat) -> None:
    """The user sees the last tool's view, and below it what the model says of it."""
    chat.expects(supervisor=BEGIN, planner=[Call("find_orders", {"name": "e"}), "You have three orders."])

    assert told("""
        user: What did I order?
        supervisor -> planner
        planner.find_orders(name='e') = [{"id":1,"name":"Blue shoes","price":60.0},$more]
        view: cards Orders
        planner: You have three orders.
    """).replace(
        "$more", '{"id":2,"name":"Red hat","price":15.0},{"id":3,"name":"Green coat","price":140.0}'
    ) == await chat.says("What did I order?")
    [view] = [event for event in chat.events if isinstance(event, CardList)]
    shown, said = [event for event in chat.events if isinstance(event, Message)]
    assert view.entries[1].id == HAT
    assert (shown.shown, shown.text.splitlines()[2]) == (True, "2. Red hat — 15 EUR")
    assert (said.shown, said.text) == (False, "You have three orders.")
    assert (await chat.messages("planner"))[-1].text == "You have three orders."


async def test_numbers_stay_the_same_in_a_thread(chat: Chat) -> None:
    """An identifier has one number in a thread, in later turns and in another process, too."""
    chat.expects(
        supervisor=BEGIN,
        planner=[Call("find_orders", {"name": "hat"}), "One.", Call("find_orders", {"name": "e"}), "All."],
    )
    chat.expects(observer=["stay"])
    trace = await chat.says("Did I order a hat?", "and everything else that I have ever ordered")

    assert '[{"id":2,"name":"Blue shoes","price":60.0},{"id":1,"name":"Red hat","price":15.0}' in trace


async def test_an_unknown_number_is_an_error_to_the_model(chat: Chat) -> None:
    """A number that was never given runs nothing; the model is told which ones there are."""
    calls = [Call("find_orders", {"name": "hat"}), Call("submit_return", {"order": 7})]
    chat.expects(supervisor=BEGIN, planner=[*calls, "Which order, please?"])
    trace = await chat.says("Send order 7 back")

    told_model = phrase("alias_unknown", "en", kind="order", given=7, known="1")
    assert f"planner.submit_return(order=7) ! {told_model}" in trace
    assert RETURNS == []


@pytest.mark.parametrize("forged", ["user", "user_id", "runtime", "permissions", "lang"])
async def test_trusted_values_cannot_be_set_by_a_model(chat: Chat, forged: str) -> None:
    """The system sets the user; a call that sets it is refused and runs nothing."""
    calls = [Call("find_orders", {"name": "hat"}), Call("submit_return", {"order": 1, forged: "bob"})]
    chat.expects(supervisor=BEGIN, planner=[*calls, "I cannot."])
    trace = await chat.says("Send Bob's hat back")

    assert phrase("tool_forged", "en", names=forged, allowed="order, reason") in trace
    assert RETURNS == []


async def test_trusted_values_are_in_no_prompt(chat: Chat) -> None:
    """No model is shown the user's id, and no tool schema has a place for it."""
    chat.expects(supervisor=BEGIN, planner=[Call("find_orders", {"name": "hat"}), "One."])
    await chat.says("Did I order a hat?", thread="secret-user-77")

    assert chat.script.asked
    assert not [asked for asked in chat.script.asked if "secret-user-77" in asked.prefix or "runtime" in asked.prefix]


async def test_what_is_not_permitted_is_refused(chat: Chat) -> None:
    """A tool that needs a permission tells the model that the user lacks it."""
    chat.expects(supervisor=BEGIN, planner=[Call("refund"), "You may not."])

    assert f"planner.refund() ! {phrase('tool_forbidden', 'en', tool='refund')}" in await chat.says("Money back!")


async def test_an_error_view_is_a_notice(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    """A refused write shows a notice at once; the model is told why, and its words follow."""
    chat.expects(supervisor=BEGIN, planner=[Call("find_orders", {"name": "hat"}), "One hat."], observer=["stay"])
    await chat.says("Did I order a hat?")
    monkeypatch.setattr("tests.support.shop_tools.ORDERS", {id: order for id, order in ORDERS.items() if id != HAT})
    chat.expects(planner=[Call("submit_return", {"order": 1}), "It is gone."])

    assert told("""
        user: then please send that hat back to them
        planner.submit_return(order=1) ! There is no such order.
        view: notice
        planner: It is gone.
    """) == await chat.says("then please send that hat back to them")
    assert [event.message for event in chat.events if isinstance(event, Notice)] == ["No such order."]


async def test_a_view_is_shown_once(chat: Chat) -> None:
    """A speaker that takes over in the same turn does not show another speaker's view again."""
    find = Call("find_orders", {"name": "hat"})
    calls: list[Line] = [[find, Call("hand_back", {"wish": "the weather"})]]
    chat.expects(supervisor=[*BEGIN, "It is sunny."], planner=calls)
    trace = await chat.says("My hat, and the weather?")

    assert trace.endswith(
        "view: cards Orders\nplanner (dialog): supervisor\nplanner -> supervisor\nsupervisor: It is sunny."
    )


async def test_a_view_is_shown_before_the_dialog_ends(chat: Chat) -> None:
    """A dialog that shows something and then gives the conversation back has shown it; nobody else has to speak."""
    calls: list[Line] = [Call("find_orders", {"name": "hat"}), ["There it is.", Call("hand_back")]]
    chat.expects(supervisor=BEGIN, planner=calls)

    assert (await chat.says("Where is my hat?")).endswith(
        "view: cards Orders\nplanner: There it is.\nplanner (dialog): finished\nplanner -> supervisor"
    )


async def test_a_stored_view_of_an_unknown_kind_is_left_out(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a change of the application the model's own words are shown in place of a view that is gone."""
    monkeypatch.setattr("agents.events.views.read_view", lambda _: read_view({"kind": "gone"}))
    chat.expects(supervisor=BEGIN, planner=[Call("find_orders", {"name": "hat"}), "You have one hat."])

    assert (await chat.says("What did I order?")).endswith("planner: You have one hat.")
