"""Steps of the graph: each runs a node and chooses the next nodes."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, cast

from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command, Overwrite

from agents.state import State, updated
from agents.toolkit.context import Context

Node = Callable[[State, Runtime[Context]], Awaitable[Mapping[str, object]]]
Step = Callable[[State, Runtime[Context]], Awaitable[Command[str]]]
REDUCED = ("talks", "votes", "said")
"""The keys of the state that an update adds to."""


class GraphBuilder:
    """Builds the graph; each node chooses the next ones itself, so that no edge is a task of its own."""

    def __init__(self) -> None:
        self.graph = StateGraph(State, context_schema=Context)
        self.graph.add_edge(START, "route")
        self.listeners: dict[str, Step] = {}
        """The steps of speakers that may begin in the step that decides on them."""

    def add(
        self,
        name: str,
        node: Node,
        choose: Callable[[State], list[str]],
        targets: Sequence[str],
        *,
        decides: bool = False,
    ) -> Step:
        """Add a node, and the function that chooses among the targets by the state after the node.

        A node that `decides` does nothing else: a speaker that it chooses alone begins in the same step.
        """

        # For LangGraph an edge would be a task of its own, which reads the whole state once more.
        async def step(state: State, runtime: Runtime[Context]) -> Command[str]:
            if failures := runtime.context.failures:
                raise failures.pop()
            update = await node(state, runtime)
            after = updated(state, update)
            chosen = choose(after)
            listener = self.listeners.get(chosen[0]) if decides and len(chosen) == 1 else None
            # A step shows its words only once it is stored, and they must not wait for a model.
            if listener is None or ("said" in update and after["said"]):
                return Command(update=update, goto=chosen)
            return await _listened(listener, Command(update=update, goto=chosen), after, runtime)

        self.graph.add_node(name, step, destinations=(*targets,))
        return step


async def _listened(listener: Step, decided: Command[str], state: State, runtime: Runtime[Context]) -> Command[str]:
    """Let a speaker begin in the step that has decided on it: both are stored together, and run again after a kill."""
    context, update = runtime.context, cast(dict[str, object], decided.update)
    context.decided.update(update)
    try:
        reply = await listener(state, runtime)
    except Exception as failure:
        # The speaker's own step raises it, once the decision is stored.
        context.failures.append(failure)
        return decided
    written = cast(dict[str, object], reply.update)
    after = cast(dict[str, Any], updated(state, written))
    merged = {key: Overwrite(after[key]) if key in REDUCED else after[key] for key in {**update, **written}}
    return Command(update=merged, goto=reply.goto)
