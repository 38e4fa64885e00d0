"""The wiring of the conversation: one flat graph.

Every speaker is two nodes, `<name>` and `<name>.tools`; every observer one node for each of its checks.
"""

from collections.abc import Callable, Mapping
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.store.base import BaseStore
from langgraph.types import Checkpointer

from agents.conversation.gate import Gate
from agents.conversation.gate.trained import trained_gate
from agents.conversation.prompt import Prompting
from agents.conversation.scene import Observer, scene_of
from agents.nodes.ask import Asking
from agents.nodes.observer import Judging, Watching
from agents.nodes.route import Routing
from agents.nodes.settle import Settling
from agents.nodes.shortcut import Serving
from agents.nodes.speaker import Speaking, Summing, summary_due
from agents.nodes.tools import ToolCalls
from agents.nodes.undo import TakingBack
from agents.state import SUPERVISOR, State, holder_of
from agents.toolkit.context import Context
from agents.toolkit.shelf import Mode, shelves
from agents.toolkit.speaker import Speaker, Speakers

Graph = CompiledStateGraph[State, Context, Any, Any]


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


class Wiring:
    """Choose the next nodes after each node."""

    def __init__(self, speakers: Speakers, observers: Mapping[str, Observer], settling: Settling) -> None:
        self.speakers, self.observers, self.settling = speakers, observers, settling

    def after_route(self, state: State) -> list[str]:
        """Go to the observers, and at the same time to the dialog if it drafts; without observers to the listener."""
        if agreed := state.get("agreed"):
            return [f"{agreed['speaker']}.tools"]
        if state.get("undoing") is not None:
            return ["undo"]
        listener = state["listener"]
        if listener is None:
            return ["shortcut" if state.get("shortcut") else "ask" if state.get("pending") else END]
        observers = [f"{name}.pre_check" for name in state["asked"]]
        return [*observers, listener] if state["drafting"] or not observers else observers

    def after_judging(self, state: State) -> list[str]:
        """Go to the speaker that takes over on a switch; else on with the draft, or to the dialog if it has none."""
        listener = state["listener"] or SUPERVISOR
        if listener == SUPERVISOR or not state["drafting"]:
            return [listener]
        return self.after_reply(self.speakers[listener], state)

    def after_speaking(self, speaker: Speaker) -> Callable[[State], list[str]]:
        """Go to the verdict if the draft needs one, else on with the reply."""

        def after(state: State) -> list[str]:
            return ["verdict"] if state["asked"] and state["drafting"] else self.after_reply(speaker, state)

        return after

    def after_reply(self, speaker: Speaker, state: State) -> list[str]:
        """Go to the tools that were called; after an answer to the post-checks, to `settle`, or to the end."""
        last = state["talks"][speaker.name]["messages"][-1]
        if isinstance(last, AIMessage) and last.tool_calls:
            return [f"{speaker.name}.tools"]
        checks = self._post_checks(speaker, state)
        if summary_due(speaker, state):
            checks.append(f"{speaker.name}.summary")
        return checks or (["settle"] if self.settling.due(state) else [END])

    def after_tools(self, state: State) -> list[str]:
        """Go to `ask` if a tool waits for the user, to `settle` if a dialog ended by an answer, else to the holder."""
        if state.get("pending"):
            return ["ask"]
        verdict = state.get("verdict")
        if verdict and verdict["kind"] == "finished" and state["said"]:
            return ["settle"]
        return [holder_of(state)]

    def after_asking(self, state: State) -> list[str]:
        """Run the call that the user agreed to; else go to the next question, or back to who asked."""
        if agreed := state.get("agreed"):
            return [f"{agreed['speaker']}.tools"]
        return ["ask" if state.get("pending") else holder_of(state)]

    def after_shortcut(self, state: State) -> list[str]:
        """Go to the speaker that leads if the result needs a model's words, else back to an open question."""
        return [state["listener"] or ("ask" if state.get("pending") else END)]

    def after_settling(self, state: State) -> list[str]:
        """Go to the dialog of the next wish, or that the user is back in, if there is one."""
        return [state["listener"] or END]

    def _post_checks(self, speaker: Speaker, state: State) -> list[str]:
        observers = [name for name in speaker.observers if self.observers[name].post_check]
        if not observers:
            return []
        scene = scene_of(speaker, state, self.speakers)
        tests = {name: self.observers[name].when for name in observers}
        return [f"{name}.post_check" for name, when in tests.items() if when is None or when(scene)]


def build_graph(
    speakers: Speakers,
    observers: Mapping[str, Observer],
    *,
    saver: Checkpointer,
    store: BaseStore | None,
    gate: Gate | None = None,
    tool_mode: Mode = "append",
    direct_switch: bool = True,
) -> Graph:
    """Compile the conversation: route, speakers with their tools, observers, verdict, settle."""
    graph = StateGraph(State, context_schema=Context)
    serving, settling = Serving(speakers, direct=direct_switch), Settling(speakers)
    prompting = Prompting(speakers, shelf_of := shelves(speakers, tool_mode))
    wiring = Wiring(speakers, observers, settling)
    watchers = {name: observer.when for name, observer in observers.items() if observer.pre_check}
    everyone = [SUPERVISOR, *speakers.dialogs]
    hands = [f"{name}.tools" for name in everyone]
    looks = {name: _looks(speakers[name], observers) for name in everyone}
    checks = sorted({check for nodes in looks.values() for check in nodes})

    graph.add_node("route", Routing(watchers, gate or trained_gate(), serving.recognise, speakers))
    graph.add_node("verdict", Judging(speakers, direct_switch))
    graph.add_node("settle", settling)
    graph.add_node("ask", Asking(speakers))
    graph.add_node("undo", TakingBack(speakers))
    graph.add_conditional_edges("undo", Edge(wiring.after_settling), [END, *everyone])
    graph.add_node("shortcut", serving)
    graph.add_conditional_edges("shortcut", Edge(wiring.after_shortcut), [END, "ask", *everyone])
    for name in everyone:
        speaker = speakers[name]
        after = [END, f"{name}.tools", "settle", *looks[name], *([] if speaker.is_supervisor else ["verdict"])]
        graph.add_node(name, Speaking(speaker, prompting))
        graph.add_node(f"{name}.tools", ToolCalls(speaker, speakers, shelf_of.get(name)))
        if speaker.history == "summarise":
            graph.add_node(f"{name}.summary", Summing(speaker))
            graph.add_edge(f"{name}.summary", "settle")
        graph.add_conditional_edges(name, Edge(wiring.after_speaking(speaker)), after)
        holders = ["ask", *(everyone if speaker.is_supervisor else [name, SUPERVISOR, "settle"])]
        graph.add_conditional_edges(f"{name}.tools", Edge(wiring.after_tools), holders)
    for name, observer in observers.items():
        if observer.pre_check:
            graph.add_node(f"{name}.pre_check", Watching(name, observer.pre_check, prompting))
            graph.add_edge(f"{name}.pre_check", "verdict")
        if observer.post_check:
            graph.add_node(f"{name}.post_check", Watching(name, observer.post_check, prompting))
            graph.add_edge(f"{name}.post_check", "settle")
    graph.add_edge(START, "route")
    looks_first = [f"{name}.pre_check" for name in watchers]
    graph.add_conditional_edges(
        "route", Edge(wiring.after_route), [END, "ask", "shortcut", "undo", *everyone, *hands, *looks_first]
    )
    graph.add_conditional_edges("ask", Edge(wiring.after_asking), ["ask", *everyone, *hands])
    graph.add_conditional_edges("verdict", Edge(wiring.after_judging), [END, "settle", *everyone, *hands, *checks])
    graph.add_conditional_edges("settle", Edge(wiring.after_settling), [END, *speakers.dialogs])
    return graph.compile(checkpointer=saver, store=store, name="dialog-supervisor")


def _looks(speaker: Speaker, observers: Mapping[str, Observer]) -> list[str]:
    """Return the nodes that run on a speaker's answer while the user reads it."""
    checks = [f"{name}.post_check" for name in speaker.observers if observers[name].post_check]
    return [*checks, f"{speaker.name}.summary"] if speaker.history == "summarise" else checks
