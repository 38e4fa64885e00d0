"""A hook around a turn that raises costs an apology at most."""

import asyncio
from contextlib import aclosing
from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.prebuilt.tool_node import ToolCallRequest

from agents.events import Message, ToolEnd
from agents.models import AskModel, ModelRequest
from agents.plugin import Events, PlayTurn, Plugin, TurnRequest
from agents.toolkit.call import Execute, ToolReply
from app.testing import Chat
from app.testing.script import Call

pytestmark = pytest.mark.needs("profile")


async def raising(request: TurnRequest, play: PlayTurn) -> Events:
    """Fail before the turn."""
    raise LookupError("the limits cannot be read")
    async for event in play(request):
        yield event


async def raising_behind(request: TurnRequest, play: PlayTurn) -> Events:
    """Fail when the turn is over."""
    async with aclosing(play(request)) as events:
        async for event in events:
            yield event
    raise LookupError("the count cannot be written")


async def test_a_hook_that_raises_before_the_turn_is_an_apology(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The message is kept, a developer reads the error with the thread, and the dialog goes on where it was."""
    chat.expects(supervisor=[Call("get_acquainted", {"brief": "-"})], profile=["What do you do?"])
    await chat.says("Hello there")
    monkeypatch.setattr("app.testing.turn_hooks", lambda plug_ins: [raising])
    assert (await chat.says("I bake", id="2")).startswith("user: I bake\nerror internal: ")
    assert "thread ann: turn failed" in caplog.messages

    monkeypatch.undo()
    chat.expects(profile=["Since when?", "Long."])
    assert await chat.says("I bake", id="2") == "user: I bake\nprofile: Since when?"
    assert await chat.says("ten years") == "user: ten years\nprofile: Long."
    assert [it.text for it in await chat.messages("profile") if it.text.startswith("I bake")] == ["I bake"]


async def raising_amid(request: TurnRequest, play: PlayTurn) -> Events:
    """Fail when a tool has written."""
    async with aclosing(play(request)) as events:
        async for event in events:
            yield event
            if isinstance(event, ToolEnd) and event.tool == "add_todos":
                raise LookupError("the count cannot be written")


SURROGATE = "half \ud83d a smile"


async def saying(request: TurnRequest, play: PlayTurn) -> Events:
    """Answer in the place of the turn, with half a character."""
    yield Message(speaker="supervisor", text=SURROGATE)


async def test_half_a_character_from_a_hook_is_shown_and_stored(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the database nor a door takes it."""
    monkeypatch.setattr("app.testing.turn_hooks", lambda plug_ins: [saying])
    assert await chat.says("Hi") == "user: Hi\nsupervisor: half \ufffd a smile"
    monkeypatch.undo()

    async def ask_around(request: ModelRequest, ask: AskModel) -> AIMessage:
        return AIMessage(SURROGATE)

    monkeypatch.setattr("app.testing.plugins_found", lambda: {"odd": Plugin(around_model_call=ask_around)})
    assert await chat.says("Hi again") == "user: Hi again\nsupervisor: half \ufffd a smile"


async def leaving(request: TurnRequest, play: PlayTurn) -> Events:
    """End the process."""
    raise SystemExit(3)
    async for event in play(request):
        yield event


async def leaving_around_a_model(request: ModelRequest, ask: AskModel) -> AIMessage:
    """End the process."""
    await asyncio.gather(asyncio.sleep(0), leave())
    return await ask(request)


async def leave() -> None:
    """End the process, in a task of its own."""
    raise SystemExit(3)


@pytest.mark.parametrize("hook", [{"around_turn": leaving}, {"around_model_call": leaving_around_a_model}])
async def test_a_hook_that_ends_the_process_is_an_apology(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, hook: dict[str, Any]
) -> None:
    """It is a failure like any other, and everybody else is served on."""
    monkeypatch.setattr("app.testing.plugins_found", lambda: {"odd": Plugin(**hook)})
    assert (await chat.says("Hi", id="2")).startswith("user: Hi\nerror internal: ")
    assert "thread ann: turn failed" in caplog.messages
    monkeypatch.undo()
    chat.expects(supervisor=["Hello."])
    assert await chat.says("Hi", id="2") == "user: Hi\nsupervisor: Hello."


async def test_a_hook_around_a_tool_that_ends_the_process_is_a_failed_tool(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model is told, and the turn goes on."""

    async def around_tool(request: ToolCallRequest, execute: Execute) -> ToolReply:
        raise SystemExit(3)

    monkeypatch.setattr("app.testing.plugins_found", lambda: {"odd": Plugin(around_tool_call=around_tool)})
    chat.expects(supervisor=[Call("current_time"), "I cannot tell."])
    assert (await chat.says("What time is it?")).endswith("supervisor: I cannot tell.")
    answers = [message for message in await chat.messages("supervisor") if isinstance(message, ToolMessage)]
    assert {answer.status for answer in answers} == {"error"}


@pytest.mark.needs("planner")
async def test_a_hook_that_raises_amid_the_turn_lets_nothing_be_written_twice(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run is over before the apology, and the same message goes on behind what was done."""
    monkeypatch.setattr("app.testing.turn_hooks", lambda plug_ins: [raising_amid])
    milk = Call("add_todos", {"items": ["milk"]})
    chat.expects(supervisor=[Call("plan_things", {"brief": "-"})], planner=[milk])
    assert "error internal: " in await chat.says("milk on my list", id="1")

    monkeypatch.undo()
    chat.expects(planner=["Noted.", Call("list_todos"), "That is all."])
    assert (await chat.says("milk on my list", id="1")).endswith("planner: Noted.")
    assert [it.text for it in await chat.messages("planner") if isinstance(it, ToolMessage)] == ["1. milk"]
    assert "1. milk" in (trace := await chat.says("and what is there now?"))
    assert "2. milk" not in trace


async def test_a_hook_that_raises_behind_the_turn_takes_no_answer_away(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The answer is shown and stored; the same message repeats it."""
    monkeypatch.setattr("app.testing.turn_hooks", lambda plug_ins: [raising_behind])
    chat.expects(supervisor=["Hello."])
    assert await chat.says("Hi", id="1") == "user: Hi\nsupervisor: Hello."
    assert "thread ann: a hook failed behind the end of the turn" in caplog.messages
    assert await chat.says("Hi", id="1") == "user: Hi\nsupervisor: Hello."
