"""A hook around a turn that raises costs an apology at most."""

from contextlib import aclosing

import pytest
from langchain_core.messages import ToolMessage

from agents.events import ToolEnd
from agents.plugin import Events, PlayTurn, TurnRequest
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
