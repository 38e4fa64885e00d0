"""An edge of the graph that chooses the next nodes."""

from collections.abc import Callable
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig

from agents.state import State


class Edge(Runnable[State, list[str]]):
    """Where to go after a node. LangGraph would report each call of a plain function to LangChain's tracers."""

    def __init__(self, choose: Callable[[State], list[str]]) -> None:
        self.choose, self.name = choose, choose.__name__

    def invoke(self, input: State, config: RunnableConfig | None = None, **kwargs: Any) -> list[str]:
        """Return the next nodes."""
        return self.choose(input)

    async def ainvoke(self, input: State, config: RunnableConfig | None = None, **kwargs: Any) -> list[str]:
        """Return the next nodes at once, not from a thread."""
        return self.choose(input)
