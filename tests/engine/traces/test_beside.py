"""The output beside a question: the answer to a plain request, and the views of the reply's other tools."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import BaseTool, tool

from agents.events import TurnEnd
from agents.events.views import CardList, Entry, View
from agents.state.history import dangling
from agents.toolkit.context import Runtime
from agents.toolkit.result import Answer, result
from agents.toolkit.speaker import Speakers
from agents.toolkit.traits import traits
from app.testing import Chat, told
from app.testing.script import Call, Line
from prompts import phrase
from tests.support import shop_tools
from tests.support.user_words import user_words

pytestmark = pytest.mark.needs("planner")

ASKED = "selector: Which order? [Blue shoes | Red hat | Green coat]"
BEGIN: list[Line] = [Call("plan_things", {"brief": "send something back"})]


@traits(shortcut=True, view="cards")
@tool(response_format="content_and_artifact")
async def list_todos(runtime: Runtime) -> Answer:
    """Show the user's to-dos."""
    return result([{"text": "buy milk"}], view=CardList(title="To-dos", entries=[Entry("buy milk")]))


@pytest.fixture(autouse=True)
def planner(chat: Chat) -> None:
    """Give the planner the shop and a list that plain requests show."""
    given(chat, [*shop_tools.TOOLS, list_todos])


def given(chat: Chat, tools: Sequence[BaseTool]) -> None:
    """Give the planner these tools alone."""
    planner = replace(chat.speakers.dialogs["planner"], tools=tools)
    there = shop_tools.with_shop(chat.speakers)
    chat.speakers = Speakers(there.supervisor, {**there.dialogs, "planner": planner})


def is_valid(messages: Sequence[BaseMessage]) -> bool:
    """Tell whether behind each call of tools stand its answers, and nothing before them."""
    waits: set[str | None] = set()
    for message in messages:
        if isinstance(message, ToolMessage):
            waits.remove(message.tool_call_id)
        elif waits:
            return False
        elif isinstance(message, AIMessage):
            waits = {call["id"] for call in message.tool_calls}
    return not waits


async def test_a_plain_request_leaves_a_question_open(chat: Chat) -> None:
    """The answer is shown without a model, then the question again; the next message answers it."""
    chat.finds(current_time=["It is nine."])
    chat.expects(supervisor=BEGIN, planner=[Call("choose_order")])

    assert told(f"""
        user: I want to return something
        supervisor -> planner
        {ASKED}
        user: what time is it?
        supervisor.current_time() = It is nine.
        planner: It is nine.
        {ASKED}
    """) == await chat.says("I want to return something", "what time is it?")
    assert [event.waiting for event in chat.events if isinstance(event, TurnEnd)] == [True, True]
    assert [pending["prompt"] for pending in (await chat.state())["pending"]] == ["Which order?"]
    chat.expects(planner=["Sent back."])
    assert told("""
        user: the second one
        planner.choose_order() = {"id":1,"name":"Red hat","price":15.0}
        planner: Sent back.
    """) == await chat.says("the second one")


@pytest.mark.parametrize("plain", ["what time is it?", "show my list"])
async def test_a_history_stays_valid_meanwhile(chat: Chat, plain: str) -> None:
    """The model reads the exchange before the request that it works on, and the user's answer last."""
    chat.finds(current_time=["It is nine."] * 2)
    chat.expects(supervisor=BEGIN, planner=[Call("choose_order"), "Sent back."])
    await chat.says("I want to return something", plain, plain, "2")

    asked = chat.script.asked[-1].messages
    assert user_words(asked) == [plain, plain, "I want to return something"]
    assert asked[-1].text.splitlines()[0] == '{"id":1,"name":"Red hat","price":15.0}'
    assert is_valid(asked)
    assert is_valid(await chat.messages("planner"))


async def test_a_form_is_filled_in_around_a_plain_request(chat: Chat) -> None:
    """The filled fields stay, the open field stays open, and a second question waits its turn."""
    chat.finds(current_time=["It is nine."])
    chat.expects(supervisor=BEGIN, planner=[[Call("ask_address"), Call("choose_order")], "Done."])

    assert told(f"""
        user: Fetch it
        supervisor -> planner
        breaker: Where shall we fetch it? [street | zip]
        user: street: Elm Street 5
        breaker: Thank you. What is still missing: [zip]
        user: what time is it?
        supervisor.current_time() = It is nine.
        planner: It is nine.
        breaker: Thank you. What is still missing: [zip]
        user: 8001
        planner.ask_address() = {{"street":"Elm Street 5","zip":8001}}
        {ASKED}
        user: show my list
        supervisor.list_todos() = [{{"text":"buy milk"}}]
        view: cards To-dos
        {ASKED}
        user: 1
        planner.choose_order() = {{"id":1,"name":"Blue shoes","price":60.0}}
        planner: Done.
    """) == await chat.says("Fetch it", "street: Elm Street 5", "what time is it?", "8001", "show my list", "1")


async def test_home_leaves_a_question(chat: Chat) -> None:
    """A user who goes home does not want to choose; the call's result is that nothing was chosen."""
    chat.expects(supervisor=BEGIN, planner=[Call("choose_order")])
    trace = await chat.says("I want to return something", "home")

    assert f"user: home\nplanner.choose_order() ! {phrase('not_chosen', 'en')}\n" in trace
    assert "planner -> supervisor\nsupervisor: Here I am." in trace
    assert ((await chat.state())["pending"], dangling(await chat.messages("planner"))) == ([], [])


async def test_what_a_tool_alone_cannot_answer_leaves_a_question(chat: Chat) -> None:
    """A model has to tell what went wrong, and can only do so once its calls are answered."""
    chat.finds(current_time=[])
    chat.expects(supervisor=BEGIN, planner=[Call("choose_order"), "My clock has stopped. Which order was it?"])
    trace = await chat.says("I want to return something", "what time is it?")

    assert f"planner.choose_order() ! {phrase('not_chosen', 'en')}" in trace
    assert trace.endswith("planner: My clock has stopped. Which order was it?")
    assert (await chat.state())["pending"] == []
    assert is_valid(chat.script.asked[-1].messages)


@pytest.mark.parametrize("question_first", [False, True])
async def test_a_view_is_shown_before_the_question_of_another_tool(chat: Chat, question_first: bool) -> None:
    """A view that the user may need for an answer is on the screen first, in any order of the tools' calls.

    Only the options have numbers, which the user answers with.
    """
    calls = [Call("find_orders", {"name": "hat"}), Call("choose_order")]
    chat.expects(supervisor=BEGIN, planner=[calls[::-1] if question_first else calls, "Sent back.", "Yes."])

    assert told(f"""
        user: I want to return something
        supervisor -> planner
        planner.find_orders(name='hat') = [{{"id":1,"name":"Red hat","price":15.0}}]
        view: cards Orders
        {ASKED}
        user: 1
        planner.choose_order() = {{"id":2,"name":"Blue shoes","price":60.0}}
        planner: Sent back.
    """) == await chat.says("I want to return something", "1")
    assert [event.text() for event in chat.events if isinstance(event, View)] == ["Orders\n- Red hat — 15 EUR"]
    await chat.says("yes")
    asked = chat.script.asked[-1].messages[-1].text
    assert "On the user's screen:\nWhich order?:\n1. Blue shoes" in asked


async def test_several_views_are_shown_before_a_question(chat: Chat) -> None:
    """All that the round shows stands above the question, in the order of the calls; the last list has the numbers."""
    calls = [Call("find_orders", {"name": "e"}), Call("refund"), Call("list_todos"), Call("ask_address")]
    chat.expects(supervisor=BEGIN, planner=[calls, "Fetched."])
    trace = await chat.says("Fetch it", "street: Elm Street 5", "8001")

    assert [line for line in trace.splitlines() if line.startswith("view")] == [
        "view: cards Orders",
        "view: cards To-dos",
    ]
    orders, todos = [event.text().splitlines()[1] for event in chat.events if isinstance(event, View)]
    assert (orders, todos) == ("- Blue shoes — 60 EUR", "1. buy milk")
