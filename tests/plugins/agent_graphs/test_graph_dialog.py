"""An agent graph as a dialog: its tokens, tool calls and failures are the dialog's."""

import sqlite3
from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from agents.errors import ModelUnavailable
from agents.events import Token, ToolStart
from agents.toolkit.speaker import Speakers
from app.composition import unanswered
from app.extensions import plugins
from app.testing import Chat, told
from app.testing.script import Call, Line, Script
from dialogs import Dialog


@tool
def count_letters(word: str) -> int:
    """Count the letters of a word."""
    return len(word)


def agent(model: BaseChatModel) -> Any:
    """Return the loop that `create_agent` makes: a model, its tools, and back."""

    async def ask(state: MessagesState) -> dict[str, Sequence[BaseMessage]]:
        chunks = [chunk async for chunk in model.astream(state["messages"])]
        reply = sum(chunks[1:], chunks[0])
        return {"messages": [AIMessage(reply.text, tool_calls=getattr(reply, "tool_calls", []), id=reply.id)]}

    graph = StateGraph(MessagesState)
    graph.add_node("model", ask)
    graph.add_node("tools", ToolNode([count_letters]))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    return graph.compile()


def seat(chat: Chat, *lines: Line) -> Script:
    """Put the agent into the application, and let its model say these lines."""
    script = Script()
    script.add(agent=list(lines))
    model = script.models(["agent"]).roles["agent"].chat
    dialog = Dialog(tool="count", description="Used for counting letters.", agent=agent(model))
    chat.speakers = Speakers(chat.speakers.supervisor, {**chat.speakers.dialogs, "letters": dialog.named("letters")})
    chat.expects(supervisor=[Call("count", {"brief": "-"})])
    return script


async def test_the_tools_and_the_answer_of_an_agent_are_the_dialogs(chat: Chat) -> None:
    """The call stands in the trace, the answer streams, and the agent reads on in the next turn."""
    script = seat(chat, Call("count_letters", {"word": "house"}), "It has five letters.", "You are welcome.")
    chat.expects(observer=["stay"])
    assert told("""
        user: How long is house?
        supervisor -> letters
        letters.count_letters(word='house') = 5
        letters: It has five letters.
        user: Thank you so very much, dear counter of all the letters
        letters: You are welcome.
    """) == await chat.says("How long is house?", "Thank you so very much, dear counter of all the letters")
    tokens = [event.text for event in chat.events if isinstance(event, Token) and event.speaker == "letters"]
    assert "".join(tokens) == "It has five letters.You are welcome."
    assert [event.tool for event in chat.events if isinstance(event, ToolStart)] == ["count_letters"]
    heard = [message.text for message in script.asked[-1].messages if not isinstance(message, ToolMessage)]
    assert heard[-3:] == [
        "How long is house?",
        "It has five letters.",
        "Thank you so very much, dear counter of all the letters",
    ]


async def test_the_thinking_of_an_agent_is_not_shown(chat: Chat) -> None:
    """The thinking in the text of an agent's model is no part of its answer."""
    seat(chat, "<think>House: h, o, u, s, e.</think>\n\nFive <")
    assert (await chat.says("How long is house?")).endswith("letters: Five <")
    tokens = [event.text for event in chat.events if isinstance(event, Token) and event.speaker == "letters"]
    assert "".join(tokens) == "Five <"


@pytest.mark.sqlite
async def test_an_agent_keeps_no_checkpoints_in_the_thread(chat: Chat) -> None:
    """It runs in a context of its own, with a journal of its own; the thread has the checkpoints of our graph alone."""
    seat(chat, "Five.")
    await chat.says("How long is house?")
    with sqlite3.connect(chat.path) as connection:
        names = connection.execute("SELECT DISTINCT checkpoint_ns FROM checkpoints").fetchall()
    connection.close()
    assert names == [("",)]


async def test_an_agent_without_its_model_is_told_as_such(chat: Chat) -> None:
    """The user reads an apology, and the same thread goes on."""
    seat(chat, ModelUnavailable("busy", "script"))
    assert "error busy: " in await chat.says("How long is house?")


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        ("Five.<|im_end|>\n<|im_start|>user\nAnd mouse?", "letters: Five."),
        ('{"name": "count_letters", "parameters": {"word": "house"}}', "error garbled: "),
    ],
)
async def test_no_machinery_of_an_agent_is_shown(chat: Chat, reply: str, outcome: str) -> None:
    """The agent's model is read as any: its answer ends where a turn does, and a call in words is no answer."""
    seat(chat, reply)
    turn_trace = await chat.says("How long is house?")
    assert outcome in turn_trace
    assert "im_" not in turn_trace
    assert "parameters" not in turn_trace


async def test_a_graph_that_nothing_runs_is_a_fault(chat: Chat) -> None:
    """Without a plug-in for graphs `check` names a dialog with one, and so does each door before it opens."""
    seat(chat)
    others = {name: plugin for name, plugin in plugins().items() if name != "agent_graphs"}
    assert unanswered(chat.speakers, plugins()) == []
    assert unanswered(chat.speakers, others) == [
        "dialogs/letters has an agent graph, and no plug-in runs it (see PLUGINS)"
    ]
    chat.script.queues.clear()
