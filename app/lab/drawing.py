"""The drawing of the graph around an agent, in which the nodes that run are lit."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from agents.events import Event, Handover, Interrupt, ModelEnd, ModelStart, Observed, ToolStart, TurnEnd, TurnStart
from agents.state import SUPERVISOR

State = Literal["", "ran", "runs"]


@dataclass(frozen=True)
class Node:
    """A node of the drawing: where it stands, in columns and rows from the top left, and whether it has run."""

    name: str
    x: float
    y: int
    state: State = ""


NODES = ("route", "verdict", "ask", "settle")


def drawing(
    agent: str, observers: Sequence[str], events: Iterable[Event]
) -> tuple[Sequence[Node], Sequence[tuple[Node, Node]]]:
    """Return the nodes and edges around an agent; nodes that ran in these events are lit, the last one above all."""
    ran = [name for event in events if (name := _node_of(event, observers))]
    checks = [f"{observer}.pre_check" for observer in observers]
    others = [name.removesuffix(".tools") for name in ran if name not in (*NODES, *checks)]
    speakers = [*dict.fromkeys((SUPERVISOR, agent, *others))]
    rows = [
        ["route"],
        [*checks, *speakers],
        ["verdict", *(f"{speaker}.tools" for speaker in speakers)],
        ["ask", "settle"],
    ]
    widest = max(map(len, rows))

    def state(name: str) -> State:
        return "" if name not in ran else "runs" if ran[-1] == name != "settle" else "ran"

    nodes = {
        name: Node(name, place + (widest - len(row)) / 2, depth, state(name))
        for depth, row in enumerate(rows)
        for place, name in enumerate(row)
    }
    pairs = [("route", name) for name in rows[1]]
    pairs += [(f"{observer}.pre_check", "verdict") for observer in observers]
    for speaker in speakers:
        pairs += [(speaker, f"{speaker}.tools"), (f"{speaker}.tools", "settle")]
    pairs += [(f"{agent}.tools", "ask")]
    return [*nodes.values()], [(nodes[start], nodes[end]) for start, end in pairs]


def _node_of(event: Event, observers: Sequence[str]) -> str:
    match event:
        case TurnStart():
            return "route"
        case ModelStart(speaker=speaker) | ModelEnd(speaker=speaker):
            return speaker
        case Observed(observer=observer, by="observer"):
            return f"{observer}.pre_check" if observer in observers else ""
        case ToolStart(speaker=speaker):
            return f"{speaker}.tools"
        case Handover(to=to):
            return to
        case Interrupt():
            return "ask"
        case TurnEnd():
            return "settle"
    return ""
