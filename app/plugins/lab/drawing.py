"""The drawing of the graph around an agent, in which the nodes that run are lit."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from agents.events import Event, Handover, Interrupt, ModelEnd, ModelStart, Observed, ToolStart, TurnEnd, TurnStart
from agents.state import SUPERVISOR

State = Literal["ran", "runs"]
NODES = ("route", "verdict", "ask", "settle")


@dataclass(frozen=True)
class GraphDrawing:
    """The nodes in rows, the edges between them, and the state of each node that has run."""

    rows: Sequence[Sequence[str]]
    edges: Sequence[tuple[str, str]]
    states: Mapping[str, State]


def drawing(agent: str, observers: Sequence[str], events: Iterable[Event]) -> GraphDrawing:
    """Return the drawing around an agent; nodes that ran in these events are lit, the last one most of all."""
    ran = [name for event in events if (name := _node_of(event, observers))]
    checks = [f"{observer}.pre_check" for observer in observers]
    others = [name.removesuffix(".tools") for name in ran if name not in (*NODES, *checks)]
    speakers = [*dict.fromkeys((SUPERVISOR, agent, *others))]
    tools = [f"{speaker}.tools" for speaker in speakers]
    edges = [("route", name) for name in (*checks, *speakers)]
    edges += [(check, "verdict") for check in checks]
    edges += [*zip(speakers, tools, strict=True), *((node, "settle") for node in tools), (f"{agent}.tools", "ask")]
    states: dict[str, State] = {name: "runs" if name == ran[-1] != "settle" else "ran" for name in ran}
    return GraphDrawing([["route"], [*checks, *speakers], ["verdict", *tools], ["ask", "settle"]], edges, states)


def _node_of(event: Event, observers: Sequence[str]) -> str:
    match event:
        case TurnStart():
            return "route"
        case ModelStart(speaker=node) | ModelEnd(speaker=node) | Handover(to=node):
            return node
        case Observed(observer=observer, by="observer"):
            return f"{observer}.pre_check" if observer in observers else ""
        case ToolStart(speaker=speaker):
            return f"{speaker}.tools"
        case Interrupt():
            return "ask"
        case TurnEnd():
            return "settle"
    return ""
