"""An agent graph as a dialog: its tokens, tool calls and failures are the dialog's."""

import sqlite3

import pytest
from langchain.agents import create_agent
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool

from agents.errors import ModelUnavailable
from agents.events import Token, ToolStart
from app.composition import unanswered
from app.extensions import plugins
from app.testing import Chat, told
from app.testing.script import Call, Line
from tests.plugins.agent_graphs.desk import SCRIPT, model, seat


@tool
def count_letters(word: str) -> int:
    """Count the letters of a word."""
    return len(word)


def letters(chat: Chat, *lines: Line) -> None:
    """Put an agent that counts letters into the application, and let its model say these lines."""
    SCRIPT.add(desk=list(lines))
    seat(chat, create_agent(model(), [count_letters]))


async def test_the_tools_and_the_answer_of_an_agent_are_the_dialogs(chat: Chat) -> None:
    """The call stands in the trace, the answer streams, and the agent reads on in the next turn."""
    letters(chat, Call("count_letters", {"word": "house"}), "It has five letters.", "You are welcome.")
    chat.expects(observer=["stay"])
    assert told("""
        user: How long is house?
        supervisor -> desk
        desk.count_letters(word='house') = 5
        desk: It has five letters.
        user: Thank you so very much, dear counter of all the letters
        desk: You are welcome.
    """) == await chat.says("How long is house?", "Thank you so very much, dear counter of all the letters")
    tokens = [event.text for event in chat.events if isinstance(event, Token) and event.speaker == "desk"]
    assert "".join(tokens) == "It has five letters.You are welcome."
    assert [event.tool for event in chat.events if isinstance(event, ToolStart)] == ["count_letters"]
    heard = [message.text for message in SCRIPT.asked[-1].messages if not isinstance(message, ToolMessage)]
    assert heard[-3:] == [
        "How long is house?",
        "It has five letters.",
        "Thank you so very much, dear counter of all the letters",
    ]


async def test_the_thinking_of_an_agent_is_not_shown(chat: Chat) -> None:
    """The thinking in the text of an agent's model does not belong to its answer."""
    letters(chat, "<think>House: h, o, u, s, e.</think>\n\nFive <")
    assert (await chat.says("How long is house?")).endswith("desk: Five <")
    tokens = [event.text for event in chat.events if isinstance(event, Token) and event.speaker == "desk"]
    assert "".join(tokens) == "Five <"


@pytest.mark.sqlite
async def test_an_agent_keeps_no_checkpoints_in_the_thread(chat: Chat) -> None:
    """It runs in a context of its own, with a journal of its own; the thread has the checkpoints of our graph alone."""
    letters(chat, "Five.")
    await chat.says("How long is house?")
    with sqlite3.connect(chat.path) as connection:
        names = connection.execute("SELECT DISTINCT checkpoint_ns FROM checkpoints").fetchall()
    connection.close()
    assert names == [("",)]


async def test_an_agent_without_its_model_is_told_as_such(chat: Chat) -> None:
    """The user reads an apology, and the same thread goes on."""
    letters(chat, ModelUnavailable("busy", "script"))
    assert "error busy: " in await chat.says("How long is house?")


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        ("Five.<|im_end|>\n<|im_start|>user\nAnd mouse?", "desk: Five."),
        ('{"name": "count_letters", "parameters": {"word": "house"}}', "error garbled: "),
    ],
)
async def test_no_machinery_of_an_agent_is_shown(chat: Chat, reply: str, outcome: str) -> None:
    """The agent's model is read as any: its answer ends where a turn does, and a call in words is no answer."""
    letters(chat, reply)
    turn_trace = await chat.says("How long is house?")
    assert outcome in turn_trace
    assert "im_" not in turn_trace
    assert "parameters" not in turn_trace


async def test_a_graph_that_nothing_runs_is_a_fault(chat: Chat) -> None:
    """Without a plug-in for graphs `check` names a dialog with one, and so does each door before it opens."""
    letters(chat)
    others = {name: plugin for name, plugin in plugins().items() if name != "agent_graphs"}
    assert unanswered(chat.speakers, plugins()) == []
    assert unanswered(chat.speakers, others) == [
        "dialogs/desk has an agent graph, and no plug-in runs it (see PLUGINS)"
    ]
    chat.script.queues.clear()
