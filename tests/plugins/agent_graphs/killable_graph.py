"""`python -m tests.plugins.agent_graphs.killable_graph`: turns with an agent graph, in processes.

A process may be killed at any step.

Each graph looks a name up, pays after a yes, and tells what came of it: an agent whose payments are reviewed, two
agents that hand over to each other, and a graph that asks twice in one node. Each effect is a line in a file beside
the database. A step is a trip to the database.
"""

import json
import os
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import BaseTool, tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from agents.memory.sqlite_file import SqliteBackend
from agents.toolkit.speaker import Speakers
from app.assistant import Turn
from app.composition import discover, open_services, plugins_found, tables_of
from app.testing import compose
from app.testing.script import Asked, Call, Line, Script, ScriptModel
from dialogs import Dialog
from observers import Observer
from tests.plugins.agent_graphs.desk import row
from tests.support.killable_process import Request, serve
from tests.support.killable_writes import Steps, count

BOB = {"to": "Bob", "amount": 10}
REVIEW = "pay (to: Bob; amount: 10)?"


class Teller(Script):
    """Models that do what is due next, whatever process they are in."""

    def __init__(self, life: int) -> None:
        super().__init__()
        self.live(life)

    def live(self, life: int) -> None:
        """Begin a life: a provider never gives two calls the same id, and neither may two lives."""
        self.asked = [Asked("nobody", [], [])] * (1000 * life)

    def next_line(self, role: str, messages: Sequence[BaseMessage]) -> Line:
        """Return the role's next line."""
        if role == "observer":
            return "stay"
        if role == "supervisor":
            heard = next(message.text for message in reversed(messages) if message.type == "human")
            return Call(next(f"go_to_{name}" for name in GRAPHS if name in heard), {"brief": "money"})
        results = [message for message in messages if message.type == "tool"]
        lines: list[Line] = [Call("look_up", {"name": "Bob"}), Call("pay", BOB), "Bob is paid."]
        if role == "clerk":
            # Who hands over here hands no messages over.
            return lines[1:][len(results)]
        return lines[len(results)] if role == "desk" else [lines[0], Call("transfer_to_clerk")][len(results)]


GRAPHS = ("desk", "swarm", "trip")


class Till:
    """A place with agent graphs; `path` is the database beside which its effects are noted."""

    def __init__(self, path: Path, life: int) -> None:
        self.path, self.script = path, Teller(life)

    @property
    def effects(self) -> list[str]:
        """Return the effects, in order."""
        file = self.path.with_suffix(".log")
        return file.read_text().split() if file.exists() else []

    def _do(self, effect: str) -> None:
        with self.path.with_suffix(".log").open("a") as file:
            file.write(f"{effect}\n")

    def beside(self, speakers: Speakers) -> Speakers:
        """Return the speakers, and the graphs as dialogs among them."""

        @tool
        async def look_up(name: str) -> str:
            """Look a name up."""
            self._do("looked")
            return f"{name} is known."

        @tool
        async def pay(to: str, amount: float) -> str:
            """Pay somebody."""
            self._do("paid")
            return f"{to} has {amount:g}."

        @tool
        def transfer_to_clerk() -> Command[Any]:
            """Pass the conversation on to the clerk."""
            return Command(goto="clerk", graph=Command.PARENT)

        def agent(role: str, *tools: BaseTool) -> Any:
            model = ScriptModel(role=role, script=self.script)
            review = HumanInTheLoopMiddleware({"pay": True})
            return create_agent(model, [*tools], system_prompt="You pay.", middleware=[review], name=role)

        swarm = StateGraph(MessagesState)
        swarm.add_node("guide", agent("guide", look_up, transfer_to_clerk), destinations=("clerk",))
        swarm.add_node("clerk", agent("clerk", pay))
        swarm.add_edge(START, "guide")

        async def find(state: MessagesState) -> None:
            self._do("looked")

        async def ask(state: MessagesState) -> dict[str, Any]:
            if interrupt("Whom?") != "Bob" or not interrupt(REVIEW):
                return {"messages": [AIMessage("Nobody is paid.")]}
            self._do("paid")
            return {"messages": [AIMessage("Bob is paid.")]}

        agents = {"desk": agent("desk", look_up, pay), "swarm": swarm.compile(), "trip": row(find, ask)}
        dialogs = {
            name: Dialog(tool=f"go_to_{name}", description=f"Used for a {name}.", agent=agents[name]).named(name)
            for name in GRAPHS
        }
        return Speakers(speakers.supervisor, {**speakers.dialogs, **dialogs})


@cache
def staff() -> tuple[Till, Speakers, Mapping[str, Observer]]:
    """Make the graphs once, for all processes that are forked later."""
    till, (speakers, watching) = Till(Path(), life=0), discover()
    return till, till.beside(speakers), watching


async def play(request: Request, pipe: int) -> None:
    """Play a turn."""
    (till, speakers, watching), steps = staff(), Steps(request.step)
    till.path = Path(request.database)
    till.script.live(request.life)
    count(steps)
    turn = Turn(thread=request.thread, text=request.text, id=request.id, source=request.source)
    async with (
        SqliteBackend(f"sqlite:///{till.path}").open(tables=tables_of(plugins_found())) as memory,
        open_services(plugins_found(), memory) as services,
    ):
        assistant = compose(memory, till.script, speakers, watching, services=services)
        async for event in assistant.play(turn):
            os.write(pipe, json.dumps(event.plain()).encode() + b"\n")
            steps.begun = (steps.begun or event.type == request.since) and event.type != "turn.end"


if __name__ == "__main__":
    serve(play)
