"""Specialists as tools of one `create_agent`, which LangChain's documentation recommends: each call begins afresh."""

from collections.abc import Sequence
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.base import BaseCheckpointSaver

from agents.state import SUPERVISOR
from app.testing.script import Call, Line
from benchmarks.instant import Troupe
from benchmarks.performing import DESCRIPTIONS, ENTRIES, lookup, role_text


class ToolsPlayer(Troupe):
    """A perfect router, which repeats what the specialist has answered."""

    def next_line(self, role: str, messages: Sequence[BaseMessage]) -> Line:
        """Return what `role` has to say at this point of the step."""
        step = self.step
        if role != SUPERVISOR or step.speaker == SUPERVISOR:
            return self.spoken(messages)
        answered = not isinstance(messages[-1], HumanMessage)
        return step.exchange.answer if answered else Call(ENTRIES[step.speaker], {"request": step.exchange.says})


def build(player: Troupe, saver: BaseCheckpointSaver[Any]) -> Any:
    """Return the compiled agent that has the specialists as tools."""
    tools = [_specialist(player, name) for name in ENTRIES]
    return create_agent(player.part(SUPERVISOR), tools, system_prompt=role_text(SUPERVISOR), checkpointer=saver)


def _specialist(player: Troupe, name: str) -> BaseTool:
    agent = create_agent(player.part(name), [lookup], system_prompt=role_text(name), name=name)

    @tool(ENTRIES[name], description=DESCRIPTIONS[name])
    async def ask(request: str) -> str:
        result = await agent.ainvoke({"messages": [HumanMessage(request)]})
        return str(result["messages"][-1].text)

    return ask
