"""langgraph-supervisor on the script: every turn goes to the supervisor, on to a specialist and back."""

from collections.abc import Sequence
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph_supervisor import create_handoff_tool, create_supervisor

from agents.state import SUPERVISOR
from app.testing.script import Call, Line
from benchmarks.instant import Troupe
from benchmarks.performing import DESCRIPTIONS, ENTRIES, lookup, role_text


class SupervisorPlayer(Troupe):
    """A perfect router, which repeats what the specialist has answered."""

    def next_line(self, role: str, messages: Sequence[BaseMessage]) -> Line:
        """Return what `role` has to say at this point of the step."""
        if role != SUPERVISOR or self.step.speaker == SUPERVISOR:
            return self.spoken(messages)
        answered = not isinstance(messages[-1], HumanMessage)
        return self.step.exchange.answer if answered else Call(ENTRIES[self.step.speaker])


def build(player: Troupe, saver: BaseCheckpointSaver[Any]) -> Any:
    """Return the compiled supervisor with its default of keeping each specialist's last message."""
    agents = [create_agent(player.part(name), [lookup], system_prompt=role_text(name), name=name) for name in ENTRIES]
    tools = [
        create_handoff_tool(agent_name=name, name=ENTRIES[name], description=DESCRIPTIONS[name]) for name in ENTRIES
    ]
    graph = create_supervisor(agents, model=player.part(SUPERVISOR), tools=tools, prompt=role_text(SUPERVISOR))
    return graph.compile(checkpointer=saver)
