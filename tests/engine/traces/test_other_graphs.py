"""`interrupt()` and handoff tools of other LangGraph libraries: a question, a handoff, or a clear failure."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool, tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, Send, interrupt

from agents.events import Interrupt
from agents.state import SUPERVISOR
from agents.toolkit import traits
from app.testing import Chat, told
from app.testing.script import Call
from prompts import phrase
from tests.support.changed_speakers import changed
from tests.support.sampling import sample

pytestmark = pytest.mark.needs("profile")

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
    chat.speakers = changed(chat.speakers, to, *tools)


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


@pytest.mark.parametrize(("no", "lang"), [("No, thanks", "en"), ("не надо", "ru")])
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
    """The tool gets the JSON object with which a client resumes."""
    given(chat, book)
    chat.expects(supervisor=[Call("book", {"name": "Rome"}), "Done."])
    await chat.says("Book Rome")
    await chat.says('{"type": "accept"}', source="choice")
    assert DONE == ["Rome"]


@pytest.mark.parametrize("text", ["Let us talk about something else", "planner", "home"])
@pytest.mark.needs("planner")
async def test_something_else_is_no_answer(chat: Chat, text: str) -> None:
    """A user who turns away has answered nothing, and the call is told so."""
    given(chat, book)
    chat.expects(supervisor=[Call("book", {"name": "Rome"})])
    await chat.says("Book Rome")
    if text == "planner":
        chat.expects(planner=["Your plans?"])
    elif text == "Let us talk about something else":
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


def handoff(goto: Any, graph: str | None = Command.PARENT) -> BaseTool:
    """Return a tool as the swarm and supervisor libraries make them."""

    @tool
    def transfer() -> Command[Any]:
        """Transfer the conversation."""
        return Command(goto=goto, graph=graph, update={"active_agent": "x"})

    return transfer


@pytest.mark.parametrize("goto", sample(["planner", ["planner"], [Send("planner", {})], "plan_things"], 4))
@pytest.mark.needs("planner")
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


@pytest.mark.needs("planner")
async def test_a_hand_off_out_of_a_dialog(chat: Chat) -> None:
    """A dialog's tool that goes to the supervisor gives the conversation back; the supervisor hears the message."""
    given(chat, handoff(SUPERVISOR), to="planner")
    chat.expects(supervisor=[Call("plan_things", {"brief": "-"}), "Let me see."], planner=[Call("transfer")])
    trace = await chat.says("pass me on")
    assert trace.endswith("supervisor: Let me see.")
    assert (await chat.state())["dialog"] is None


@pytest.mark.parametrize("goto", ["profile", "get_acquainted"])
@pytest.mark.needs("planner")
async def test_a_hand_off_from_dialog_to_dialog(chat: Chat, goto: str) -> None:
    """The dialog that a tool names, by its name or its tool's, hears the message at once: no supervisor is asked."""
    given(chat, handoff(goto), to="planner")
    chat.expects(supervisor=[Call("plan_things", {"brief": "-"})], planner=[Call("transfer")], profile=["Who are you?"])
    trace = await chat.says("pass me on")
    assert trace.endswith(
        told("""
        planner (dialog): switch -> profile
        planner -> supervisor
        supervisor -> profile
        profile: Who are you?
    """)
    )
    assert (await chat.state())["dialog"] == "profile"


@pytest.mark.needs("planner")
async def test_hand_offs_in_a_circle_end(chat: Chat) -> None:
    """Dialogs that only pass a message on to each other may do so three times; then the supervisor is told."""
    given(chat, handoff("profile"), to="planner")
    given(chat, handoff("planner"), to="profile")
    chat.expects(supervisor=[Call("plan_things", {"brief": "-"}), "Nobody can help."])
    chat.expects(planner=[Call("transfer")] * 2, profile=[Call("transfer")])
    assert (await chat.says("pass me on")).endswith("supervisor: Nobody can help.")


async def test_every_answer_counts_once(chat: Chat) -> None:
    """A tool that asks twice is run once for each answer, and an earlier no still counts as false."""
    runs: list[str] = []

    @tool
    async def pack(what: str) -> str:
        """Pack a bag."""
        runs.append(what)
        is_warm, is_far = interrupt("Is it warm?"), interrupt("Is it far?")
        return f"warm: {bool(is_warm)}, far: {bool(is_far)}"

    given(chat, pack)
    chat.expects(supervisor=[Call("pack", {"what": "bag"}), "Packed."])
    await chat.says("Pack")
    await chat.says("no", source="choice")
    assert "= warm: False, far: True" in await chat.says("yes")
    assert len(runs) == 3


async def test_a_graph_within_a_tool_that_waits_fails_loudly(chat: Chat, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing is asked, since the graph could not go on with the answer; the log names the tool."""

    @tool
    async def travel() -> str:
        """Plan a journey."""
        await inner_graph().ainvoke({"messages": []})
        return "Planned."

    given(chat, travel)
    chat.expects(supervisor=[Call("travel"), "Sorry."])
    trace = await chat.says("Plan it")
    assert [event for event in chat.events if isinstance(event, Interrupt)] == []
    assert phrase("tool_failed", "en", tool="travel") in trace
    assert "tool travel interrupts within a graph of its own" in caplog.text


async def test_a_graph_within_a_tool_after_an_answer(chat: Chat, caplog: pytest.LogCaptureFixture) -> None:
    """The tool's own question is answered; a graph within it that asks then fails as loudly."""

    @tool
    async def travel() -> str:
        """Plan a journey."""
        interrupt("Where to?")
        await inner_graph().ainvoke({"messages": []})
        return "Planned."

    given(chat, travel)
    chat.expects(supervisor=[Call("travel"), "Sorry."])
    await chat.says("Plan it")
    assert phrase("tool_failed", "en", tool="travel") in await chat.says("Rome")
    assert "tool travel interrupts within a graph of its own" in caplog.text
