"""The state of an agent graph comes back as it was, behind a question and in the next turn; or the key is told."""

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum, StrEnum
from operator import add
from typing import Annotated, Any, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.memory import InMemoryStore
from langgraph.types import Send, interrupt
from pydantic import BaseModel, PrivateAttr

from agents.errors import ContractError
from agents.events import Error, Interrupt
from app.testing import Chat
from dialogs import Dialog
from tests.plugins.agent_graphs.desk import model, row, seat


class Color(Enum):
    """An enum."""

    RED = "red"


class Mood(StrEnum):
    """An enum that looks like a text."""

    GOOD = "good"


@dataclass
class Note:
    """A dataclass."""

    text: str
    color: Color = Color.RED
    when: dt.datetime | None = None


@dataclass
class Pair:
    """A dataclass whose field holds a type that msgpack has not."""

    both: tuple[int, int]


class Place(NamedTuple):
    """A named tuple."""

    town: str


class Stop(BaseModel):
    """A model with a nested one."""

    note: Note
    names: set[str] = set()
    _seen: int = PrivateAttr(0)


@dataclass
class Undeclared:
    """A type that no schema names."""

    text: str


class Texts(list[str]):
    """A list of a kind of its own."""


class Known(MessagesState):
    """A state that declares its types."""

    v: Color | Mood | Note | Pair | Place | Stop | list[Stop] | dict[str, Note] | Any


class Unknown(MessagesState):
    """A state that declares none."""

    v: Any


MOMENT = dt.datetime(2026, 3, 29, 1, tzinfo=dt.UTC)
KEPT: list[Any] = [
    Color.RED,
    Mood.GOOD,
    Note("a", when=MOMENT),
    Place("Oslo"),
    Stop(note=Note("a"), names={"b"}),
    [Stop(note=Note("a"))],
    {"x": Note("a")},
]
STANDARD: list[Any] = [
    {1, 2},
    frozenset({"a"}),
    MOMENT,
    dt.date(2026, 3, 29),
    dt.timedelta(seconds=3),
    b"\x00\xff",
    Decimal("1.10"),
    UUID(int=5),
    {1: "a"},
    float("nan"),
    float("inf"),
]


def asking(schema: Any, value: Any, check: Callable[[Any], None]) -> Any:
    """Return a graph that asks with a value in its state, and looks at the value behind the question, and later."""

    async def set_value(state: Any) -> dict[str, Any]:
        if "v" in state:
            check(state["v"])
        return {"v": value}

    async def ask(state: Any) -> dict[str, Any]:
        interrupt("Go on?")
        check(state["v"])
        return {"messages": [AIMessage("Done.")]}

    return row(set_value, ask, schema=schema)


async def test_values_come_back_as_they_were(chat: Chat) -> None:
    """Behind a question, and in the next turn, a declared or a standard type is what it was."""
    seen: list[Any] = []
    values = [*KEPT, *STANDARD]
    seat(chat, asking(Known, values, seen.append))
    chat.expects(observer=["stay"])
    await chat.says("Begin")
    assert [event.prompt for event in chat.events if isinstance(event, Interrupt)] == ["Go on?"]
    assert (await chat.says("yes")).endswith("desk: Done.")
    await chat.says("And now the very same thing once more, my dear desk")
    assert len(seen) == 2
    for them in seen:
        assert [(type(it), repr(it)) for it in them] == [(type(value), repr(value)) for value in values]


LOST: list[tuple[Any, Any]] = [
    (Known, Undeclared("a")),
    (Known, [{"deep": Undeclared("a")}]),
    (Known, (1, 2)),
    (Known, Pair((1, 2))),
    (Known, Texts(["a"])),
    (Known, dt.datetime(2026, 3, 29, 1, tzinfo=ZoneInfo("Europe/Oslo"))),
    (Unknown, Color.RED),
    (Unknown, Stop(note=Note("a"))),
]


@pytest.mark.parametrize(("schema", "value"), LOST, ids=repr)
async def test_a_value_that_would_change_is_refused(
    chat: Chat, caplog: pytest.LogCaptureFixture, schema: Any, value: Any
) -> None:
    """The question is not asked; the operator reads the dialog, the key and the type, and the next run begins anew."""
    seen: list[Any] = []
    seat(chat, asking(schema, value, seen.append))
    await chat.says("Begin", id="1")
    assert [event.code for event in chat.events if isinstance(event, Error)] == ["internal"]
    assert (
        f"the agent of desk waits, and would not get back as it was what it holds under 'v' ({type(value).__name__})"
        in caplog.text
    )
    await chat.says("Begin", id="1")
    assert [event.code for event in chat.events if isinstance(event, Error)] == ["internal"]
    assert seen == []


async def test_a_private_field_is_no_field(chat: Chat, caplog: pytest.LogCaptureFixture) -> None:
    """A model whose private attribute would be lost is refused as well."""
    stop = Stop(note=Note("a"))
    stop._seen = 3
    seat(chat, asking(Known, stop, lambda _: None))
    await chat.says("Begin")
    assert "under 'v' (Stop)" in caplog.text


async def test_what_cannot_be_stored_is_named(chat: Chat, caplog: pytest.LogCaptureFixture) -> None:
    """A value for which there are no bytes ends the run with its key."""
    seat(chat, asking(Unknown, object(), lambda _: None))
    await chat.says("Begin")
    assert "the agent of desk holds under 'v' what cannot be stored (object:" in caplog.text


async def test_a_run_without_a_question_may_hold_anything(chat: Chat) -> None:
    """Within a run values stay in the process: nobody reads them back."""

    class Inner(MessagesState):
        v: Any

    class Asked(MessagesState):
        pass

    seen: list[Any] = []
    graph = StateGraph(Inner, input_schema=Asked)
    graph.add_node("a", lambda _: {"v": (1, Undeclared("a"))})

    async def look(state: Inner) -> dict[str, Any]:
        seen.append(state["v"])
        return {"messages": [AIMessage("Done.")]}

    graph.add_node("b", look)
    graph.add_edge(START, "a")
    graph.add_edge("a", "b")
    seat(chat, graph.compile())
    assert (await chat.says("Begin")).endswith("desk: Done.")
    assert seen == [(1, Undeclared("a"))]


class Trip(MessagesState):
    """A state whose stops come from tasks side by side."""

    stops: Annotated[list[Any], add]


@pytest.mark.parametrize(("stop", "is_kept"), [("Oslo", True), (Undeclared("Oslo"), False)])
@pytest.mark.parametrize("where", ["beside", "sent", "inside"])
async def test_what_tasks_beside_a_question_hold(
    chat: Chat, caplog: pytest.LogCaptureFixture, stop: Any, is_kept: bool, where: str
) -> None:
    """The same rule holds for what a task beside the question wrote, was sent, or holds in a graph of its own."""

    async def work(state: Any) -> dict[str, Any]:
        return {"stops": [stop] if where == "beside" else []}

    async def ask(state: Any) -> dict[str, Any]:
        return {"stops": [str(interrupt("Where to?"))]}

    async def tell(state: Trip) -> dict[str, Any]:
        return {"messages": [AIMessage(f"{len(state['stops'])} stops")]}

    graph = StateGraph(Trip)
    graph.add_node("work", work)
    graph.add_node("ask", row(lambda _: {"stops": [stop]}, ask, schema=Trip) if where == "inside" else ask)
    graph.add_node("tell", tell)
    sent = [Send("work", {"stop": stop if where == "sent" else ""}), "ask"]
    graph.add_conditional_edges(START, lambda _: sent, ["work", "ask"])
    graph.add_edge("work", "tell")
    graph.add_edge("ask", "tell")
    seat(chat, graph.compile())
    trace = await chat.says("Begin")
    assert ("error internal" in trace) is not is_kept
    assert ("would not get back as it was" in caplog.text) is not is_kept


def in_a_tool(inner: Any) -> Any:
    """Return an agent with a tool that asks another graph."""

    @tool
    async def ask_inner(text: str) -> str:
        """Ask somebody."""
        return str(await inner.ainvoke({"messages": [text]}))

    return create_agent(model(), [ask_inner])


def counter(checkpointer: Any) -> Any:
    """Return a graph with a checkpointer of its own."""
    return row(lambda state: {"messages": [AIMessage(str(len(state["messages"])))]}, checkpointer=checkpointer)


@pytest.mark.parametrize("checkpointer", [True, InMemorySaver()], ids=["True", "a saver"])
@pytest.mark.parametrize("place", [lambda graph: graph, row, in_a_tool], ids=["alone", "inside", "in a tool"])
def test_a_memory_of_its_own_fails_at_start(checkpointer: Any, place: Callable[[Any], Any]) -> None:
    """A graph that would be forgotten at each turn is refused in one line, wherever it stands."""
    with pytest.raises(ContractError, match="compiled with a `checkpointer` of its own: leave it out"):
        Dialog(tool="go", description="Used for going.", agent=place(counter(checkpointer)))


def test_a_function_that_wants_its_last_result_fails_at_start() -> None:
    """So does a function that reads what it returned before."""

    @entrypoint()
    async def count(state: MessagesState, *, previous: Any = None) -> Any:
        return previous

    with pytest.raises(ContractError, match="reads `previous`"):
        Dialog(tool="go", description="Used for going.", agent=count)


async def test_a_store_of_its_own_is_kept(chat: Chat) -> None:
    """A graph's own store lives as long as the process, as in LangGraph."""

    async def count(state: MessagesState, runtime: Runtime[Any]) -> dict[str, Any]:
        store: Any = runtime.store
        item = await store.aget(("desk",), "count")
        number = item.value["number"] + 1 if item else 1
        await store.aput(("desk",), "count", {"number": number})
        return {"messages": [AIMessage(f"count {number}")]}

    seat(chat, row(count, store=InMemoryStore()))
    chat.expects(observer=["stay"])
    await chat.says("Begin")
    assert (await chat.says("And now the very same thing once more, my dear desk")).endswith("desk: count 2")


async def test_a_hidden_graph_with_a_memory_of_its_own_is_told(chat: Chat, caplog: pytest.LogCaptureFixture) -> None:
    """A graph that nobody can find before it runs is told when it wants to be remembered."""
    hidden = {"graph": counter(True)}

    async def ask(state: MessagesState) -> Any:
        return await hidden["graph"].ainvoke(state)

    seat(chat, row(ask))
    await chat.says("Begin")
    assert "the agent of desk runs a graph inside" in caplog.text


@dataclass
class Deep:
    """A dataclass that names another type by a text."""

    notes: "list[Note]" = field(default_factory=list)


class Late(MessagesState):
    """A state that names types by texts."""

    v: "Deep | None"


async def test_types_that_are_named_late_are_declared(chat: Chat) -> None:
    """A type in quotes, and one within a declared type, are declared as well."""
    seen: list[Any] = []
    seat(chat, asking(Late, Deep([Note("a")]), seen.append))
    await chat.says("Begin")
    await chat.says("yes")
    assert seen == [Deep([Note("a")])]
