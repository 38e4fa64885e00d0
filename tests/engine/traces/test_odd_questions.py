"""Questions made of what a screen or a database cannot take: they fail as any tool does, or are made harmless."""

from typing import Any

import pytest
from langchain_core.tools import tool

from agents.events import Message
from agents.toolkit.result import Answer, Option, choice, request
from agents.toolkit.traits import traits
from app.testing import Chat
from app.testing.script import Call, Line
from prompts import phrase
from tests.support.changed_speakers import changed

pytestmark = pytest.mark.needs("planner")

BEGIN: list[Line] = [Call("plan_things", {"brief": "pick one"})]
OPTIONS: dict[str, list[Any]] = {
    "values that JSON has nothing for": [Option("one", object()), Option("two", 2)],
    "labels that are no texts": [Option(1), Option(2)],  # type: ignore[arg-type]
    "too many": [Option(str(number)) for number in range(120)],
    "two lines": [Option("red hat\n2. blue hat", "red", detail="a\nb"), Option("green hat", "green")],
}


@traits(kind="selector")
@tool(response_format="content_and_artifact")
async def pick(which: str) -> Answer:
    """Let the user pick one."""
    return choice("Which one?", OPTIONS[which])


@traits(kind="breaker")
@tool(response_format="content_and_artifact")
async def go_to(url: str) -> Answer:
    """Send the user to a page."""
    return request("Please open it.", url=url)


@tool(response_format="content_and_artifact")
async def sneak() -> Answer:
    """Ask the user without saying so in its traits."""
    return request("Please open it.", url="https://shop.example")


@pytest.fixture(autouse=True)
def tools(chat: Chat) -> None:
    """Give the planner tools that ask."""
    chat.speakers = changed(chat.speakers, "planner", tools=[pick, go_to, sneak])


@pytest.mark.parametrize("which", ["values that JSON has nothing for", "labels that are no texts"])
async def test_a_choice_that_cannot_be_kept_is_a_failure_of_its_tool(chat: Chat, which: str) -> None:
    """The model is told, and the turn goes on."""
    chat.expects(supervisor=BEGIN, planner=[Call("pick", {"which": which}), "I cannot ask that."])

    trace = await chat.says("Let me pick one")
    assert phrase("tool_failed", "en", tool="pick") in trace
    assert trace.endswith("planner: I cannot ask that.")


async def test_too_much_to_choose_from_is_narrowed_down(chat: Chat) -> None:
    """The model learns how many there are and what to do; nobody asks help for it."""
    chat.expects(supervisor=BEGIN, planner=[Call("pick", {"which": "too many"}), "Which kind?"])

    trace = await chat.says("Let me pick one")
    message = phrase("choice_too_many", "en", tool="pick", count=120, most=50)
    assert trace.endswith(f"planner.pick(which='too many') ! {message}\nplanner: Which kind?")


@pytest.mark.parametrize("url", ["javascript:alert(1)", "file:///etc/passwd", "https://"])
async def test_nobody_is_sent_to_what_is_no_page(chat: Chat, url: str) -> None:
    """An address that a service may have made up is checked as those of views are."""
    chat.expects(supervisor=BEGIN, planner=[Call("go_to", {"url": url}), "There is no page."])

    assert phrase("tool_failed", "en", tool="go_to") in await chat.says("Let me sign in")


async def test_an_option_takes_one_line(chat: Chat) -> None:
    """A label with a line break cannot pass for two options, neither on the screen nor for the model."""
    chat.expects(supervisor=BEGIN, planner=[Call("pick", {"which": "two lines"})])
    await chat.says("Let me pick one")

    [question] = [event.text for event in chat.events if isinstance(event, Message)]
    assert question == "Which one?\n1. red hat 2. blue hat — a b\n2. green hat"
    assert (await chat.state())["pending"][0]["options"][0]["label"] == "red hat\n2. blue hat"


async def test_who_asks_says_so_in_its_traits(chat: Chat) -> None:
    """A question of a general tool is a fault of the tool: nobody would know how it is answered."""
    chat.expects(supervisor=BEGIN, planner=[Call("sneak"), "I cannot ask that."])

    assert phrase("tool_failed", "en", tool="sneak") in await chat.says("Let me in")
    assert (await chat.state())["pending"] == []
