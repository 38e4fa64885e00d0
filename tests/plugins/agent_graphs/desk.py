"""A desk: a dialog that is an agent graph, and the script of the models within it."""

from typing import Any

from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph

from agents.events import Interrupt
from agents.toolkit.speaker import Speakers
from app.testing import Chat
from app.testing.script import Call, Script, ScriptModel
from dialogs import Dialog

PAID: list[tuple[str, float]] = []
SCRIPT = Script()
"""The script of the models within graphs."""


@tool
def pay(to: str, amount: float) -> str:
    """Pay somebody."""
    PAID.append((to, amount))
    return f"{to} has {amount:g}."


def seat(chat: Chat, agent: Any, **more: Any) -> None:
    """Put a graph into the application as a dialog, and let the supervisor hand over to it."""
    dialog = Dialog(tool="go_to_desk", description="Used for paying.", agent=agent, **more).named("desk")
    chat.speakers = Speakers(chat.speakers.supervisor, {**chat.speakers.dialogs, "desk": dialog})
    chat.expects(supervisor=[Call("go_to_desk", {"brief": "-"})])


def row(*nodes: Any, schema: Any = MessagesState, **more: Any) -> Any:
    """Return a graph whose nodes run one after the other; `more` is for its compilation."""
    graph = StateGraph(schema)
    for place, node in enumerate(nodes):
        graph.add_node(str(place), node)
        graph.add_edge(str(place - 1) if place else START, str(place))
    return graph.compile(**more)


def model(role: str = "desk") -> ScriptModel:
    """Return a model that plays a role of the script."""
    return ScriptModel(role=role, script=SCRIPT)


def question(chat: Chat) -> Interrupt:
    """Return the question that the user sees now."""
    return [event for event in chat.events if isinstance(event, Interrupt)][-1]
