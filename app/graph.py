"""The whole wiring on one screen: one flat graph, true to its drawing.

Every speaker is two nodes, `<name>` and `<name>.tools`; every observer one node for each of its checks.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from langchain_core.messages import AIMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.store.base import BaseStore
from langgraph.types import Checkpointer

from agents.context import Context
from agents.conversation.gate import Gate, untrained_gate
from agents.conversation.prompt import Prompting
from agents.conversation.scene import scene
from agents.nodes import summary
from agents.nodes.ask import Asking
from agents.nodes.observer import Watching
from agents.nodes.route import Routing
from agents.nodes.settle import Settling
from agents.nodes.shortcut import Serving
from agents.nodes.speaker import Speaking
from agents.nodes.summary import Summing
from agents.nodes.tools import Acting
from agents.nodes.verdict import Judging
from agents.speaker import Speaker, Speakers
from agents.state import SUPERVISOR, State
from agents.toolkit.shelf import Mode, shelves
from observers import Observer

Graph = CompiledStateGraph[State, Context, Any, Any]


class Wiring:
    """The edges: where the conversation goes after each node. Coroutines, since LangGraph gives others a thread."""

    def __init__(self, speakers: Speakers, observers: Mapping[str, Observer], settling: Settling) -> None:
        self.speakers, self.observers, self.settling = speakers, observers, settling

    async def after_route(self, state: State) -> list[str]:
        """To the observers, with or without the dialog beside them; else straight to whoever listens."""
        listener = state["listener"]
        if listener is None:
            return ["shortcut" if state.get("shortcut") else "ask" if state.get("pending") else END]
        asked = [f"{name}.pre_check" for name in state["asked"]]
        return [*asked, listener] if state["drafting"] or not asked else asked

    async def after_judging(self, state: State) -> list[str]:
        """To the supervisor on a switch; else the dialog's draft counts, or it is asked now."""
        listener = state["listener"] or SUPERVISOR
        if listener == SUPERVISOR or not state["drafting"]:
            return [listener]
        return self.after_reply(self.speakers[listener], state)

    def after_speaking(self, speaker: Speaker) -> Callable[[State], Awaitable[list[str]]]:
        """To the verdict if one is awaited, else on with the reply."""

        async def after(state: State) -> list[str]:
            return ["verdict"] if state["asked"] and state["drafting"] else self.after_reply(speaker, state)

        return after

    def after_reply(self, speaker: Speaker, state: State) -> list[str]:
        """To the tools that were called; after an answer to the observers' second look, or to what is left."""
        last = state["talks"][speaker.name]["messages"][-1]
        if isinstance(last, AIMessage) and last.tool_calls:
            return [f"{speaker.name}.tools"]
        checks = [f"{name}.post_check" for name in speaker.observers if self._has_a_say(name, speaker, state)]
        if summary.due(speaker, state):
            checks.append(f"{speaker.name}.summary")
        return checks or (["settle"] if self.settling.due(state) else [END])

    async def after_tools(self, state: State) -> list[str]:
        """Back to whoever holds the conversation now; to what is left if a dialog ended with a good word.

        To the user first, if a tool waits for them.
        """
        if state.get("pending"):
            return ["ask"]
        verdict = state.get("verdict") or {}
        if verdict.get("kind") == "finished" and state["said"]:
            return ["settle"]
        return [state["dialog"] or SUPERVISOR]

    async def after_asking(self, state: State) -> list[str]:
        """To the next question, or back to whoever asked."""
        return ["ask" if state.get("pending") else state["dialog"] or SUPERVISOR]

    async def after_shortcut(self, state: State) -> list[str]:
        """To whoever holds the conversation, if what the tool gave needs words; else back to an open question."""
        return [state["listener"] or ("ask" if state.get("pending") else END)]

    async def after_settling(self, state: State) -> list[str]:
        """To the next wish's dialog, if there is one."""
        return [state["listener"] or END]

    def _has_a_say(self, name: str, speaker: Speaker, state: State) -> bool:
        observer = self.observers[name]
        return observer.post_check is not None and observer.when(scene(self.speakers, speaker, state))


def build_graph(
    speakers: Speakers,
    observers: Mapping[str, Observer],
    *,
    saver: Checkpointer,
    store: BaseStore | None,
    gate: Gate = untrained_gate,
    tool_mode: Mode = "append",
) -> Graph:
    """Compile the conversation: route, speakers with their tools, observers, verdict, settle."""
    graph = StateGraph(State, context_schema=Context)
    found, serving = shelves(speakers, tool_mode), Serving(speakers)
    settling, prompting = Settling(speakers), Prompting(speakers, found)
    wiring = Wiring(speakers, observers, settling)
    watchers = {name: observer.when for name, observer in observers.items() if observer.pre_check}
    everyone = [SUPERVISOR, *speakers.dialogs]
    hands = [f"{name}.tools" for name in everyone]
    looks = {name: _looks(speakers[name], observers) for name in everyone}
    checks = sorted({check for one in looks.values() for check in one})

    graph.add_node("route", Routing(speakers, watchers, gate, serving.recognise))
    graph.add_node("verdict", Judging(speakers))
    graph.add_node("settle", settling)
    graph.add_node("ask", Asking(speakers))
    graph.add_node("shortcut", serving)
    graph.add_conditional_edges("shortcut", wiring.after_shortcut, [END, "ask", *everyone])
    for name in everyone:
        speaker = speakers[name]
        after = [END, f"{name}.tools", "settle", *looks[name], *([] if speaker.is_supervisor else ["verdict"])]
        graph.add_node(name, Speaking(speaker, prompting))
        graph.add_node(f"{name}.tools", Acting(speaker, speakers, found.get(name)))
        if speaker.history == "summarise":
            graph.add_node(f"{name}.summary", Summing(speaker))
            graph.add_edge(f"{name}.summary", "settle")
        graph.add_conditional_edges(name, wiring.after_speaking(speaker), after)
        holders = ["ask", *(everyone if speaker.is_supervisor else [name, SUPERVISOR, "settle"])]
        graph.add_conditional_edges(f"{name}.tools", wiring.after_tools, holders)
    for name, observer in observers.items():
        if observer.pre_check:
            graph.add_node(f"{name}.pre_check", Watching(name, observer.pre_check, prompting))
            graph.add_edge(f"{name}.pre_check", "verdict")
        if observer.post_check:
            graph.add_node(f"{name}.post_check", Watching(name, observer.post_check, prompting))
            graph.add_edge(f"{name}.post_check", "settle")
    graph.add_edge(START, "route")
    looks_first = [f"{name}.pre_check" for name in watchers]
    graph.add_conditional_edges("route", wiring.after_route, [END, "ask", "shortcut", *everyone, *looks_first])
    graph.add_conditional_edges("ask", wiring.after_asking, ["ask", *everyone])
    graph.add_conditional_edges("verdict", wiring.after_judging, [END, "settle", *everyone, *hands, *checks])
    graph.add_conditional_edges("settle", wiring.after_settling, [END, *speakers.dialogs])
    return graph.compile(checkpointer=saver, store=store, name="dialog-supervisor")


def _looks(speaker: Speaker, observers: Mapping[str, Observer]) -> list[str]:
    """Return the nodes that look at a speaker's answers while the user reads."""
    checks = [f"{name}.post_check" for name in speaker.observers if observers[name].post_check]
    return [*checks, f"{speaker.name}.summary"] if speaker.history == "summarise" else checks
