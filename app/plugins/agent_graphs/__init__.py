"""Agent graphs as dialogs: LangChain's `create_agent`, and any LangGraph graph over `messages`."""

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from langchain_core.messages import AIMessage

from agents.memory import Memory
from agents.memory.checkpointer import Saver
from agents.plugin import Plugin
from agents.state.speaker_state import SpeakerUpdate
from agents.toolkit.services import Services
from agents.toolkit.speaker import AgentGraphs, AgentTurn

if TYPE_CHECKING:
    from app.plugins.agent_graphs.run import AgentRun


@dataclass(frozen=True)
class Adapter(AgentGraphs):
    """Runs agent graphs; their journals are in the database of the conversations."""

    saver: Saver

    async def ask(self, turn: AgentTurn) -> tuple[AIMessage, SpeakerUpdate]:
        """Return an answer, calls of `ask_user`, or a call of `hand_back`; and the values of the graph's own keys."""
        run: type[AgentRun] = import_module("app.plugins.agent_graphs.run").AgentRun
        return await run(turn, self.saver).reply()


def adapter(services: Services) -> Adapter:
    """Return the adapter of agent graphs, on the database that is open."""
    return Adapter(services.get(Memory).saver)


plugin = Plugin(agent_runner=adapter)
