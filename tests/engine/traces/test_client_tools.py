"""Tools that the client runs itself: a call ends the turn, and the next message has the result."""

from typing import Any

import pytest

from agents.events import ToolRequest
from agents.state.person import RESULT
from agents.toolkit.client_tools import ClientResult, ClientTool, written_results
from app.testing import Chat
from app.testing.script import Call

NUMBERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER, CLOCK = ClientTool("weather", "Tells the weather.", NUMBERS), ClientTool("clock", "", {})
ROME, OSLO = (Call("weather", {"city": city}) for city in ("Rome", "Oslo"))


async def says(chat: Chat, text: str, **more: Any) -> str:
    """Say something by a client that has tools."""
    return await chat.says(text, **{"tools": [WEATHER, CLOCK], **more})


async def brings(chat: Chat, *results: ClientResult, **more: Any) -> str:
    """Bring results by the same client."""
    return await says(chat, written_results(results), source=RESULT, **more)


def requests(chat: Chat) -> list[tuple[str, object]]:
    """Return the last calls for the client."""
    return [(event.name, event.args) for event in chat.events if isinstance(event, ToolRequest)]


def ids(chat: Chat) -> list[str]:
    """Return the ids of those calls."""
    return [event.id for event in chat.events if isinstance(event, ToolRequest)]


async def test_the_same_speaker_goes_on_with_the_results(chat: Chat) -> None:
    """Several calls go out at once; the speaker reads each result, and what it says is the answer."""
    chat.expects(supervisor=[["I look.", ROME, OSLO], "Sunny there, rain here."])
    assert "supervisor: I look." in await says(chat, "the weather in Rome and Oslo")
    assert requests(chat) == [("weather", {"city": "Rome"}), ("weather", {"city": "Oslo"})]
    assert chat.script.asked[-1].tools[-1]["function"]["name"] == "clock"
    sun, rain = (ClientResult(call=id, text=text) for id, text in zip(ids(chat), ("sun", "rain"), strict=True))
    assert (await brings(chat, rain, sun)).splitlines()[1:] == [
        "supervisor.weather(city='Rome') = sun",
        "supervisor.weather(city='Oslo') = rain",
        "supervisor: Sunny there, rain here.",
    ]


async def test_other_ids_are_read_by_place(chat: Chat) -> None:
    """A client may have ids of its own; a result without a call is none."""
    chat.expects(supervisor=[[ROME, OSLO], "Fine."])
    await says(chat, "the weather")
    assert "no longer" in await brings(chat, ClientResult(call="x", text="sun"))
    places = [ClientResult(call=it, place=place, text=it) for place, it in enumerate("ab")]
    trace = await brings(chat, *places)
    assert ("(city='Rome') = a" in trace, "(city='Oslo') = b" in trace) == (True, True)


async def test_a_client_that_never_comes_back(chat: Chat) -> None:
    """The user's next message counts, and the calls have failed; so has a call without its result."""
    chat.expects(supervisor=[[ROME, OSLO], [ROME, OSLO], "No weather today."])
    await says(chat, "the weather")
    await says(chat, "are you there")
    trace = await brings(chat, ClientResult(call=ids(chat)[0], text="sun"))
    assert ("! The program" in trace, requests(chat)) == (True, [])
    calls = [message for message in await chat.messages("supervisor") if message.type == "tool"]
    assert [message.status for message in calls] == ["error", "error", "success", "error"]


@pytest.mark.needs("planner")
async def test_no_name_is_taken_from_the_assistants_tools(chat: Chat) -> None:
    """A client's tool with the name of one of ours, of any speaker, goes by another one; the client sees its own."""
    chat.expects(supervisor=[Call("client_add_todos")])
    await chat.says("go", tools=[ClientTool("add_todos", "Ours now.", {})])
    assert requests(chat) == [("add_todos", {})]


@pytest.mark.needs("planner")
async def test_what_a_clients_tool_gives_is_foreign(chat: Chat) -> None:
    """Once a model has read it, a write of ours waits for the user's yes."""
    chat.expects(supervisor=[Call("plan_things", {"brief": "-"})])
    chat.expects(planner=[ROME, Call("add_todos", {"items": ["rum"]}), "ok"])
    await says(chat, "add what the weather needs")
    assert "confirm:" in await brings(chat, ClientResult(call=ids(chat)[0], text="rum weather"))
    assert "planner.add_todos(items=['rum']) = " in await says(chat, "yes")


async def test_what_stands_behind_a_number_is_not_the_clients(chat: Chat) -> None:
    """A schema of a client cannot mark identifiers: it would be told what models are not shown."""
    marked = {"type": "object", "properties": {"city": {"type": "string", "x-opaque": "todo"}}}
    chat.expects(supervisor=[Call("weather", {"city": "1"})])
    await chat.says("go", tools=[ClientTool("weather", "", marked)])
    assert requests(chat) == [("weather", {"city": "1"})]


async def test_a_message_that_comes_again(chat: Chat) -> None:
    """Its outcome is repeated: the same requests, and no model is asked."""
    chat.expects(supervisor=[ROME])
    await says(chat, "the weather", id="m")
    asked = requests(chat)
    await says(chat, "the weather", id="m")
    assert requests(chat) == asked
