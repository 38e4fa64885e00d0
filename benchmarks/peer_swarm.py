"""langgraph-swarm on the script: three agents that hand the conversation to one another, one shared history."""

from collections.abc import Sequence
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph_swarm import create_handoff_tool, create_swarm

from agents.state import SUPERVISOR
from app.testing.script import Call, Line
from benchmarks.instant import Troupe
from benchmarks.performing import DESCRIPTIONS, ENTRIES, lookup, role_text

BACK = "Give the conversation back to the main assistant: the user wants something else."


class SwarmPlayer(Troupe):
    """A perfect router: an active agent without a part in the step hands the conversation over."""

    def next_line(self, role: str, messages: Sequence[BaseMessage]) -> Line:
        """Return what `role` has to say at this point of the step."""
        meant = self.step.speaker
        if role == meant:
            return self.spoken(messages)
        return Call("hand_back" if meant == SUPERVISOR else ENTRIES[meant])


def build(player: Troupe, saver: BaseCheckpointSaver[Any]) -> Any:
    """Return the compiled swarm; the agent without a subject comes first."""
    there = {
        name: create_handoff_tool(agent_name=name, name=ENTRIES[name], description=DESCRIPTIONS[name])
        for name in ENTRIES
    }
    back = create_handoff_tool(agent_name=SUPERVISOR, name="hand_back", description=BACK)
    tools = {name: [lookup, *(there[other] for other in ENTRIES if other != name), back] for name in ENTRIES}
    tools[SUPERVISOR] = list(there.values())
    agents = [
        create_agent(player.part(name), own, system_prompt=role_text(name), name=name) for name, own in tools.items()
    ]
    return create_swarm(agents, default_active_agent=SUPERVISOR).compile(checkpointer=saver)
