"""Agents whose calls a person reviews: the review is a question, and its answer decides on the call."""

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.tools import BaseTool, tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command

from agents.toolkit import hand_back
from app.testing import Chat
from app.testing.script import Call
from prompts import sentence
from tests.plugins.agent_graphs.desk import PAID, SCRIPT, model, pay, question, seat


def reviewed(mode: Any, *decisions: Any) -> Any:
    """Return an agent whose payments a person reviews."""
    review = HumanInTheLoopMiddleware({"pay": {"allowed_decisions": [*decisions]}}, interrupt_mode=mode)
    return create_agent(model(), [pay, hand_back], middleware=[review])


MODES = pytest.mark.parametrize("mode", ["batched", "per_call"])


ALL = ("approve", "edit", "reject")


@pytest.mark.parametrize(
    ("mode", "answer", "source", "lang"),
    [
        ("batched", "yes", "choice", "en"),
        ("per_call", "1", "message", "en"),
        ("batched", "да, конечно", "message", "ru"),
    ],
)
async def test_a_review_that_approves(chat: Chat, mode: Any, answer: str, source: str, lang: str) -> None:
    """The user sees the call with its arguments; a tap, a number or a word lets it run once, in another process."""
    seat(chat, reviewed(mode, *ALL))
    SCRIPT.add(desk=[Call("pay", {"to": "Bob", "amount": 10.0}), "Bob has it."])
    await chat.says("Pay Bob 10", lang=lang)
    assert (
        question(chat).prompt
        == f"pay (to: Bob; amount: 10.0)?\n{sentence('agent_graphs/phrases', 'review_edit', lang)}"
    )
    assert [option["id"] for option in question(chat).options] == ["yes", "no"]
    assert PAID == []

    trace = await chat.says(answer, source=source, lang=lang)

    assert "desk.pay(to='Bob', amount=10.0) = Bob has 10." in trace
    assert trace.endswith("desk: Bob has it.")
    assert PAID == [("Bob", 10.0)]


@pytest.mark.parametrize(
    ("mode", "answer", "reason"),
    [("batched", "no", "Do not retry"), ("per_call", "Not before Friday, please", "Friday")],
)
async def test_a_review_that_rejects(chat: Chat, mode: Any, answer: str, reason: str) -> None:
    """The call is not made; the model reads that it was rejected, and the user's words as the reason."""
    seat(chat, reviewed(mode, *ALL))
    SCRIPT.add(desk=[Call("pay", {"to": "Bob", "amount": 10.0}), "All right, not now."])
    await chat.says("Pay Bob 10")
    assert (await chat.says(answer)).endswith("desk: All right, not now.")
    assert PAID == []
    assert reason in SCRIPT.asked[-1].messages[-1].text


@pytest.mark.parametrize(("mode", "answer"), [("batched", "amount: 20"), ("per_call", '{"amount": 20}')])
async def test_a_review_that_edits(chat: Chat, mode: Any, answer: str) -> None:
    """The call runs with the value that the user has changed, and with the others as they were."""
    seat(chat, reviewed(mode, *ALL))
    SCRIPT.add(desk=[Call("pay", {"to": "Bob", "amount": 10.0}), "He has twenty."])
    await chat.says("Pay Bob 10")
    await chat.says(answer)
    assert PAID == [("Bob", 20)]


@MODES
async def test_an_answer_that_is_not_allowed_is_asked_for_again(chat: Chat, mode: Any) -> None:
    """A no is no answer if a call may not be rejected, and the question stands again."""
    seat(chat, reviewed(mode, "approve"))
    SCRIPT.add(desk=[Call("pay", {"to": "Bob", "amount": 10.0}), "Done."])
    await chat.says("Pay Bob 10")
    await chat.says("no")
    assert question(chat).prompt == "pay (to: Bob; amount: 10.0)?"
    assert PAID == []
    assert (await chat.says("yes")).endswith("desk: Done.")
    assert PAID == [("Bob", 10.0)]


@MODES
async def test_each_call_of_a_reply_is_reviewed(chat: Chat, mode: Any) -> None:
    """The questions come one after the other; each answer decides on its own call."""
    seat(chat, reviewed(mode, *ALL))
    both = [Call("pay", {"to": "Bob", "amount": 10.0}), Call("pay", {"to": "Eve", "amount": 5.0})]
    SCRIPT.add(desk=[both, "Only Eve is paid."])
    await chat.says("Pay Bob 10 and Eve 5")
    assert "Bob" in question(chat).prompt
    await chat.says("no")
    assert "Eve" in question(chat).prompt
    assert (await chat.says("yes")).endswith("desk: Only Eve is paid.")
    assert PAID == [("Eve", 5.0)]


@pytest.mark.needs("planner")
@pytest.mark.usefixtures("planner")
@pytest.mark.parametrize("kind", ["batched", "per_call", "swarm"])
async def test_away_from_a_review_and_back(chat: Chat, kind: str) -> None:
    """A payment waits while the user speaks of something else, also one within a swarm; it is made once, after all."""
    seat(chat, swarm("per_call") if kind == "swarm" else reviewed(kind, *ALL), resume="silent")
    chat.expects(planner=["Your plans?"])
    if kind == "swarm":
        SCRIPT.add(alice=[Call("transfer_to_bob")])
    SCRIPT.queues["bob" if kind == "swarm" else "desk"] = [Call("pay", {"to": "Eve", "amount": 5.0}), "Eve is paid."]
    await chat.says("Pay Eve 5")
    asked = question(chat).prompt
    await chat.says("planner")
    assert (await chat.state())["paused"] == ["desk"]
    await chat.says("desk")
    assert question(chat).prompt == asked
    assert PAID == []
    assert (await chat.says("yes")).endswith("desk: Eve is paid.")
    assert PAID == [("Eve", 5.0)]


def transfer(agent: str) -> BaseTool:
    """Return a handoff tool as langgraph-swarm makes it."""

    @tool(f"transfer_to_{agent}")
    def hand_off() -> Command[Any]:
        """Pass the conversation on."""
        return Command(goto=agent, graph=Command.PARENT, update={"active_agent": agent})

    return hand_off


class Active(MessagesState):
    """The state of a swarm."""

    active_agent: str


def swarm(mode: Any = None) -> Any:
    """Return a swarm of two agents in one graph, as langgraph-swarm builds it; with a mode payments are reviewed."""
    graph = StateGraph(Active)
    review: list[Any] = [HumanInTheLoopMiddleware({"pay": True}, interrupt_mode=mode)] if mode else []
    for name, other in (("alice", "bob"), ("bob", "alice")):
        agent = create_agent(model(name), [transfer(other), transfer("planner"), pay], name=name, middleware=review)
        graph.add_node(name, agent, destinations=("alice", "bob"))
    graph.add_conditional_edges(START, lambda state: state.get("active_agent") or "alice", ["alice", "bob"])
    return graph.compile()


async def test_a_swarm_is_a_dialog(chat: Chat) -> None:
    """The active agent of a swarm stays active in the next turn; tools and models of all its agents are told."""
    seat(chat, swarm())
    chat.expects(observer=["stay"])
    SCRIPT.add(alice=[Call("transfer_to_bob")], bob=["Bob here."])
    assert (await chat.says("Bob, please")).endswith("desk: Bob here.")
    SCRIPT.add(bob=[Call("pay", {"to": "Eve", "amount": 2.0}), "Eve is paid."])
    trace = await chat.says("now be so kind and pay Eve what we owe her")
    assert "desk.pay(to='Eve', amount=2.0) = Eve has 2." in trace
    assert trace.endswith("desk: Eve is paid.")


@pytest.mark.needs("planner")
@pytest.mark.usefixtures("planner")
async def test_a_swarm_hands_over_to_a_dialog(chat: Chat) -> None:
    """A hand-off to a name that no agent of the swarm has goes to the dialog of this name, with the message."""
    seat(chat, swarm())
    chat.expects(planner=["Your plans?"])
    SCRIPT.add(alice=[Call("transfer_to_planner")])
    assert (await chat.says("my plans")).endswith("planner: Your plans?")
    assert (await chat.state())["dialog"] == "planner"
