"""Agent graphs as dialogs: interrupts become questions, and a run may be left, bounded, ended and forgotten."""

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from operator import add
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ModelRetryMiddleware
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import StructuredTool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import RetryPolicy, interrupt

from agents.errors import ContractError
from agents.events import Error, ModelEnd, ToolEnd
from agents.sources.attachments import Contents
from agents.state.person import Origin, Quoted
from agents.toolkit import hand_back, traits
from app.assistant.system_messages import SystemMessages
from app.testing import Chat
from app.testing.script import Call
from dialogs import Dialog
from prompts import phrase
from tests.plugins.agent_graphs.desk import PAID, SCRIPT, model, pay, question, row, seat
from tests.support.simulated_time import advance


async def test_what_stands_beside_a_message_is_heard(chat: Chat) -> None:
    """The agent reads what the message answers, its files, and what the operator says; nothing of it comes twice."""
    seat(chat, create_agent(model(), []))
    SCRIPT.add(desk=["At your service.", "It is about hats.", "Yes."])
    await chat.says("To the desk")
    async with chat.assistant() as assistant:
        messages = SystemMessages.model_validate({"system_messages": [{"content": "Be brief."}]})
        await messages.save(assistant.memory.store, "ann")
    answered = Quoted(kind="answer", by="Bob", text="The red one?", origin=Origin.QUOTED)
    report = Quoted(kind="file", by="report.txt", text="", origin=Origin.FILE, file="b")
    photo = Quoted(kind="photo", by="a photo", text="", origin=Origin.USER, file="a")
    note = Quoted(kind="handed_back", by="Anna", text="A lamp is on its way.", origin=Origin.OPERATOR)
    contents = Contents(texts={"b": "Hats are up."})
    await chat.says("What is this about?", quoted=[answered, report, photo, note], contents=contents)
    await chat.says("Sure?")
    *_, asked, later = SCRIPT.asked
    for text in ("by Bob:\nThe red one?", "Hats are up.", "a photo", "Be brief.", "A lamp", "What is this about?"):
        assert asked.messages[-1].text.count(text) == 1
    assert "Hats are up." not in later.prefix + later.messages[-1].text
    assert "Be brief." not in later.messages[-1].text


async def test_what_models_inside_use_up_is_told(chat: Chat) -> None:
    """Each call of a model begins and ends as an event of the dialog, and counts in the turn."""
    seat(chat, create_agent(model(), [pay]))
    SCRIPT.add(desk=[Call("pay", {"to": "Bob", "amount": 1.0}), "Paid."])
    await chat.says("Pay Bob 1")
    ends = [event for event in chat.events if isinstance(event, ModelEnd) and event.speaker == "desk"]
    assert [event.ok for event in ends] == [True, True]
    assert [event.tool for event in chat.events if isinstance(event, ToolEnd)] == ["pay"]
    assert chat.events[-1].plain()["model_calls"] == 3


class Trip(MessagesState):
    """The state of a journey's graph."""

    stops: Annotated[list[str], add]


def journey() -> Any:
    """Return a graph that asks twice in one node, and beside it in another; it keeps the stops of all its runs."""

    async def plan(state: Trip) -> dict[str, Any]:
        is_warm, name = interrupt("Is it warm there?"), interrupt({"question": "Which town?"})
        return {"stops": [f"{name} {'warm' if is_warm else 'cold'}"]}

    async def pack(state: Trip) -> dict[str, Any]:
        return {"stops": [f"bag {interrupt('How many bags?')}"]}

    async def tell(state: Trip) -> dict[str, Any]:
        return {"messages": [AIMessage(", ".join(sorted(state["stops"])))]}

    graph = StateGraph(Trip)
    for name, node in {"plan": plan, "pack": pack, "tell": tell}.items():
        graph.add_node(name, node)
    graph.add_edge(START, "plan")
    graph.add_edge(START, "pack")
    graph.add_edge(["plan", "pack"], "tell")
    return graph.compile()


async def test_interrupts_in_a_row_and_side_by_side(chat: Chat) -> None:
    """Each is a question of its own; every answer comes in another process, and a no still counts as false there."""
    seat(chat, journey())
    await chat.says("I want to travel")
    assert question(chat).prompt == "Is it warm there?"
    await chat.says("no")
    assert question(chat).prompt == "How many bags?"
    await chat.says("two of them")
    assert question(chat).prompt == "Which town?"
    assert (await chat.says("Oslo")).endswith("desk: Oslo cold, bag two of them")


async def test_a_run_costs_so_many_calls(chat: Chat) -> None:
    """A graph stops where the turn may ask no model any more; the user is told, and "go on" goes on at that node."""
    seat(chat, create_agent(model(), [pay]))
    chat.limits = replace(chat.limits, turn_calls=3)
    SCRIPT.add(desk=[Call("pay", {"to": "Bob", "amount": 1.0}), Call("pay", {"to": "Eve", "amount": 2.0}), "Paid."])
    assert (await chat.says("Pay Bob 1 and Eve 2")).endswith(f"desk: {phrase('turn_spent', 'en', most=3)}")
    assert chat.events[-1].plain()["model_calls"] == 3
    assert (await chat.says("go on")).endswith("desk: Paid.")
    assert PAID == [("Bob", 1.0), ("Eve", 2.0)]


async def test_a_graph_that_hides_failures_stops_all_the_same(chat: Chat) -> None:
    """A graph that turns every failure into an answer cannot get round the bound, nor speak of it."""
    retry = ModelRetryMiddleware(max_retries=0, on_failure="continue")
    seat(chat, create_agent(model(), [pay], middleware=[retry]))
    chat.limits = replace(chat.limits, turn_calls=2)
    SCRIPT.add(desk=[Call("pay", {"to": "Bob", "amount": 1.0})])
    assert (await chat.says("Pay Bob 1")).endswith(f"desk: {phrase('turn_spent', 'en', most=2)}")


async def test_retries_and_timeouts_of_a_graph_hold(chat: Chat) -> None:
    """A node that fails is tried again as its graph says, one that is too slow ends in an apology; then it goes on."""
    tried: list[str] = []

    async def book(state: MessagesState) -> dict[str, Any]:
        tried.append("book")
        if len(tried) == 1:
            raise ConnectionError("nobody there")
        return {}

    async def confirm(state: MessagesState) -> dict[str, Any]:
        tried.append("confirm")
        if tried.count("confirm") == 1:
            advance(60)
            await asyncio.Event().wait()
        return {"messages": [AIMessage("It is booked.")]}

    graph = StateGraph(MessagesState)
    graph.add_node("book", book, retry_policy=RetryPolicy(initial_interval=0.01, jitter=False))
    graph.add_node("confirm", confirm, timeout=60)
    graph.add_edge(START, "book")
    graph.add_edge("book", "confirm")
    seat(chat, graph.compile())
    await chat.says("Book it", id="1")
    assert [event.code for event in chat.events if isinstance(event, Error)] == ["internal"]
    assert (await chat.says("Book it", id="1")).endswith("desk: It is booked.")
    assert tried == ["book", "book", "confirm", "confirm"]


async def test_the_keys_of_a_graph_are_kept(chat: Chat) -> None:
    """A run's values in the graph's own keys are there in the next run; the journal of a run does not grow."""
    seat(chat, journey())
    chat.expects(observer=["stay"])
    await chat.says("I want to travel")
    for answer in ("yes", "1", "Rome"):
        await chat.says(answer)
    await chat.says("and then a second journey, to somewhere else")
    for answer in ("no", "2"):
        await chat.says(answer)
    assert (await chat.says("Oslo")).endswith("desk: Oslo cold, Rome warm, bag 1, bag 2")
    with closing(sqlite3.connect(chat.path)) as database:
        [(count,)] = database.execute("SELECT count(*) FROM checkpoints WHERE thread_id <> 'ann'").fetchall()
    assert count == 1


@pytest.mark.needs("planner")
@pytest.mark.usefixtures("planner")
async def test_away_and_back(chat: Chat) -> None:
    """A dialog that waits can be left for another one; when it is gone back to, it asks what is still open."""
    seat(chat, journey(), resume="tell")
    chat.expects(planner=["Your plans?"])
    await chat.says("I want to travel")
    await chat.says("no")
    await chat.says("planner")
    assert (await chat.state())["paused"] == ["desk"]
    await chat.says("desk")
    assert question(chat).prompt == "Which town?"
    await chat.says("Oslo")
    assert question(chat).prompt == "How many bags?"
    assert (await chat.says("3")).endswith("desk: Oslo cold, bag 3")


@pytest.mark.needs("planner")
@pytest.mark.usefixtures("planner")
async def test_a_dialog_that_was_ended_begins_anew(chat: Chat) -> None:
    """A dialog's open question at its end is not asked again."""
    seat(chat, journey(), resume="never")
    chat.expects(supervisor=[Call("go_to_desk", {"brief": "-"})], planner=["Your plans?"])
    await chat.says("I want to travel")
    await chat.says("no")
    await chat.says("planner")
    await chat.says("home")
    await chat.says("I want to travel after all")
    assert question(chat).prompt == "Is it warm there?"


async def test_forgetting_removes_the_journal(chat: Chat) -> None:
    """Nothing of a run that waits is left of a thread that is forgotten."""
    seat(chat, journey())
    await chat.says("I want to travel")
    async with chat.assistant() as assistant:
        assert await assistant.memory.forget("ann")
    with closing(sqlite3.connect(chat.path)) as database:
        assert database.execute("SELECT * FROM checkpoints").fetchall() == []
        assert database.execute("SELECT * FROM writes").fetchall() == []


async def test_undo_says_what_it_cannot_take_back(chat: Chat) -> None:
    """The answer names the write of a graph's tool, and nothing older is taken back in its place."""
    seat(chat, create_agent(model(), [pay]))
    SCRIPT.add(desk=[Call("pay", {"to": "Bob", "amount": 1.0}), "Paid."])
    await chat.says("Pay Bob 1")
    assert phrase("undo_cannot", "en", what="pay") in await chat.says("undo")


async def test_an_agent_gives_the_conversation_back(chat: Chat) -> None:
    """`hand_back` among the tools of an agent ends the dialog, or passes a wish to the supervisor."""
    seat(chat, create_agent(model(), [hand_back]))
    chat.expects(supervisor=["It is sunny."])
    SCRIPT.add(desk=[Call("hand_back", {"wish": "the weather"})])
    trace = await chat.says("What is the weather like?")
    assert trace.endswith("supervisor: It is sunny.")
    assert (await chat.state())["dialog"] is None


@dataclass
class Note:
    """Something that is not JSON."""

    text: str


@pytest.mark.parametrize(
    ("update", "fault"),
    [
        ({"stops": [Note("x")], "messages": [AIMessage("Hi.")]}, "keeps under 'stops' what is not plain JSON"),
        ({"stops": ["x"]}, "stops without an answer"),
    ],
)
async def test_what_cannot_be_kept_fails_loudly(
    chat: Chat, caplog: pytest.LogCaptureFixture, update: dict[str, Any], fault: str
) -> None:
    """The user reads an apology, the operator the name of the dialog and the rule."""

    async def leave(state: Trip) -> dict[str, Any]:
        return update

    seat(chat, row(leave, schema=Trip))
    await chat.says("Hello")
    assert [event.code for event in chat.events if isinstance(event, Error)] == ["internal"]
    assert f"the agent of desk {fault}" in caplog.text


def test_what_is_no_graph_over_messages_fails_at_start() -> None:
    """The rule that is broken stands in one line."""

    @dataclass
    class Words:
        words: str

    held = create_agent(model(), [traits(effect="write", confirm="always")(pay.model_copy())])
    faults = {
        "calls pay, whose traits promise": row(held),
        "must take `messages`": row(lambda state: {}, schema=Words),
        "has breakpoints": row(lambda state: {}, interrupt_before=["0"]),
        "must be a compiled LangGraph graph": StateGraph(MessagesState),
    }
    for fault, agent in faults.items():
        with pytest.raises(ContractError, match=fault):
            Dialog(tool="go", description="Used for going.", agent=agent)
    with pytest.raises(ContractError, match=r"has its own tools and fills in no form: leave `tools` and `form` out"):
        Dialog(tool="go", description="Used for going.", agent=row(lambda state: {}), tools=[pay])


async def leave() -> str:
    """End the process."""
    raise SystemExit(3)


def leave_blocking() -> str:
    """End the process from another thread."""
    raise SystemExit(3)


async def end_task() -> str:
    """End the task of the node."""
    raise asyncio.CancelledError


@pytest.mark.parametrize(
    ("place", "way_out"),
    [
        *(("node", leave), ("node", end_task), ("beside", leave_blocking), ("beside", leave)),
        *(("tool", leave_blocking), ("tool", end_task)),
    ],
)
async def test_a_graph_that_ends_the_process_is_an_apology(
    chat: Chat, caplog: pytest.LogCaptureFixture, way_out: Callable[[], Any], place: str
) -> None:
    """In a node, beside other nodes, or in a tool: it is a failure of the dialog, and everybody else is served on."""
    is_async = asyncio.iscoroutinefunction(way_out)
    way = StructuredTool.from_function(
        None if is_async else way_out, way_out if is_async else None, name="leave", description="Go."
    )
    if place == "tool":
        SCRIPT.add(desk=[Call("leave", {})])
        agent: Any = create_agent(model(), [way])
    else:
        graph = StateGraph(MessagesState)
        graph.add_node("first", lambda state: {"messages": [AIMessage("Well.")]})
        graph.add_node("second", RunnableLambda(lambda state: {}) | way)
        graph.add_edge(START, "second")
        if place == "beside":
            graph.add_edge(START, "first")
        agent = graph.compile()
    seat(chat, agent)
    assert "error internal: " in await chat.says("Pay Bob 10", id="1")
    assert "thread ann: turn failed" in caplog.messages
