"""`interrupt()` and hand-offs of other LangGraph libraries: questions and hand-overs, or a clear failure."""

from dataclasses import replace
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool, tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, Send, interrupt

from agents.events import Error, Interrupt, Message
from agents.models.script import Call
from agents.state import SUPERVISOR
from agents.toolkit import traits
from agents.toolkit.speaker import Speakers
from dialogs import Dialog
from prompts import phrase
from tests.conftest import Chat, told
from tests.support.sampling import sample

DONE: list[object] = []


@pytest.fixture(autouse=True)
def _fresh() -> None:
    DONE.clear()


@traits(effect="write", confirm="never")
@tool
def book(name: str) -> str:
    """Book a trip."""
    if not interrupt(f"Really book {name}?"):
        return "Not booked."
    DONE.append(name)
    return f"{name} is booked."


@traits(effect="write", confirm="never")
@tool
async def send_out(to: str) -> str:
    """Send a letter."""
    subject = interrupt({"question": "What is it about?", "to": to})
    text = interrupt({"query": f"What shall “{subject}” say?"})
    DONE.append((to, subject, text))
    return "Sent."


def given(chat: Chat, *tools: BaseTool, to: str = SUPERVISOR) -> None:
    """Give a speaker tools."""
    changed = replace(chat.speakers[to], tools=[*chat.speakers[to].tools, *tools])
    if to == SUPERVISOR:
        chat.speakers = Speakers(changed, chat.speakers.dialogs)
    else:
        chat.speakers = Speakers(chat.speakers.supervisor, {**chat.speakers.dialogs, to: changed})


async def test_an_interrupt_is_a_question(chat: Chat) -> None:
    """The user is asked, in another process answers, and the tool goes on from there; the write is done once."""
    given(chat, book)
    chat.expects(supervisor=[Call("book", {"name": "Rome"}), "Have a good trip."])
    await chat.says("Book Rome")
    [question] = [event for event in chat.events if isinstance(event, Interrupt)]
    assert (question.kind, question.prompt, DONE) == ("interrupt", "Really book Rome?", [])
    assert "supervisor.book(name='Rome') = Rome is booked." in await chat.says("yes, please")
    assert DONE == ["Rome"]
    assert (await chat.state())["pending"] == []


@pytest.mark.parametrize(("no", "lang"), [("no", "en"), ("No, thanks", "en"), ("нет", "ru"), ("не надо", "ru")])
async def test_a_no_counts_as_false(chat: Chat, no: str, lang: str) -> None:
    """A tool that only asks whether the answer is true does nothing after a no."""
    given(chat, book)
    chat.expects(supervisor=[Call("book", {"name": "Rome"}), "All right."])
    await chat.says("Book Rome", lang=lang)
    await chat.says(no, lang=lang)
    assert DONE == []


async def test_several_interrupts_of_one_tool(chat: Chat) -> None:
    """Each is asked in its turn, and the answers come in their order."""
    given(chat, send_out)
    chat.expects(supervisor=[Call("send_out", {"to": "Bob"}), "It is on its way."])
    await chat.says("Write to Bob")
    trace = await chat.says("the rent")
    assert "What shall “the rent” say?" in trace
    assert "= Sent." in await chat.says("It is due on Friday.")
    assert DONE == [("Bob", "the rent", "It is due on Friday.")]


async def test_an_object_is_an_answer(chat: Chat) -> None:
    """What a client resumes with as JSON is the object that the tool gets."""
    given(chat, book)
    chat.expects(supervisor=[Call("book", {"name": "Rome"}), "Done."])
    await chat.says("Book Rome")
    await chat.says('{"type": "accept"}', source="choice")
    assert DONE == ["Rome"]


@pytest.mark.parametrize("text", ["never mind", "planner", "home"])
async def test_something_else_is_no_answer(chat: Chat, text: str) -> None:
    """A user who turns away has answered nothing, and the call is told so."""
    given(chat, book)
    chat.expects(supervisor=[Call("book", {"name": "Rome"})])
    await chat.says("Book Rome")
    if text == "planner":
        chat.expects(planner=["Your plans?"])
    elif text == "never mind":
        chat.expects(supervisor=["All right."])
    await chat.says(text)
    assert DONE == []
    assert phrase("not_chosen", "en") in [message.text for message in await chat.messages(SUPERVISOR)]


def inner_graph() -> Any:
    """Return a graph that waits for a person."""

    async def ask(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(f"Booked: {interrupt('Really?')}")]}

    graph = StateGraph(MessagesState)
    graph.add_node("ask", ask)
    graph.add_edge(START, "ask")
    return graph.compile()


async def test_an_agent_that_waits_fails_loudly(chat: Chat, caplog: pytest.LogCaptureFixture) -> None:
    """The user hears that something went wrong, the operator which dialog it is; nothing is said to be done."""
    dialog = Dialog(tool="travel", description="Used for travelling.", agent=inner_graph())
    chat.speakers = Speakers(chat.speakers.supervisor, {**chat.speakers.dialogs, "trips": dialog.named("trips")})
    chat.expects(supervisor=[Call("travel", {"brief": "Rome"})])
    await chat.says("Book Rome")
    assert [event.code for event in chat.events if isinstance(event, Error)] == ["internal"]
    assert [event.text for event in chat.events if isinstance(event, Message)] == []
    assert "the agent of trips interrupts itself" in caplog.text


def handoff(goto: Any, graph: str | None = Command.PARENT) -> BaseTool:
    """Return a tool as the swarm and supervisor libraries make them."""

    @tool
    def transfer() -> Command[Any]:
        """Transfer the conversation."""
        return Command(goto=goto, graph=graph, update={"active_agent": "x"})

    return transfer


@pytest.mark.parametrize("goto", sample(["planner", ["planner"], [Send("planner", {})], "plan_things"], 4))
async def test_a_hand_off_is_a_hand_over(chat: Chat, goto: Any) -> None:
    """A tool of another library that goes to one of our dialogs hands the conversation over, with the message."""
    given(chat, handoff(goto))
    chat.expects(supervisor=[Call("transfer")], planner=["Here are your plans."])
    trace = await chat.says("my plans, please")
    assert trace.endswith(
        told("""
        supervisor -> planner
        planner: Here are your plans.
    """)
    )
    assert (await chat.state())["dialog"] == "planner"


@pytest.mark.parametrize("goto", ["billing", "__end__", [], SUPERVISOR])
async def test_a_hand_off_to_nobody_is_an_error(chat: Chat, goto: Any, caplog: pytest.LogCaptureFixture) -> None:
    """The model reads that nothing was handed over; the operator finds the tool and the name in the log."""
    given(chat, handoff(goto))
    chat.expects(supervisor=[Call("transfer"), "I cannot pass you on."])
    trace = await chat.says("billing, please")
    assert "supervisor: I cannot pass you on." in trace
    results = [message for message in await chat.messages(SUPERVISOR) if message.type == "tool"]
    assert results[-1].status == "error"
    assert "Nothing was handed over" in results[-1].text
    assert "tool transfer hands off to" in caplog.text


@pytest.mark.parametrize("goto", [SUPERVISOR, "profile"])
async def test_a_hand_off_out_of_a_dialog(chat: Chat, goto: str) -> None:
    """A dialog's tool gives the conversation back; the supervisor reads the message, and whom it is for."""
    given(chat, handoff(goto), to="planner")
    chat.expects(supervisor=[Call("plan_things", {"brief": "-"}), "Let me see."], planner=[Call("transfer")])
    trace = await chat.says("pass me on")
    assert trace.endswith("supervisor: Let me see.")
    assert (await chat.state())["dialog"] is None


async def test_an_agent_that_hands_off(chat: Chat) -> None:
    """An agent graph that goes to a graph around it gives the conversation back with the user's message."""

    async def leave(state: MessagesState) -> Command[Any]:
        return Command(goto="planner", graph=Command.PARENT)

    graph = StateGraph(MessagesState)
    graph.add_node("leave", leave)
    graph.add_edge(START, "leave")
    dialog = Dialog(tool="travel", description="Used for travelling.", agent=graph.compile())
    chat.speakers = Speakers(chat.speakers.supervisor, {**chat.speakers.dialogs, "trips": dialog.named("trips")})
    chat.expects(supervisor=[Call("travel", {"brief": "Rome"}), "Your plans, then."])
    trace = await chat.says("my plans")
    assert trace.endswith("supervisor: Your plans, then.")
    assert [event.code for event in chat.events if isinstance(event, Error)] == []
