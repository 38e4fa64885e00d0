"""The graph of the conversation: one flat one.

Every speaker is two nodes, `<name>` and `<name>.tools`; every observer one node for each of its checks.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage
from langgraph.graph import END
from langgraph.graph.state import CompiledStateGraph
from langgraph.store.base import BaseStore
from langgraph.types import Checkpointer

from agents.conversation.gate import Gate, trained_gate
from agents.conversation.prompt import Prompting
from agents.conversation.scene import Observer, scene_of
from agents.nodes.ask import InterruptNode
from agents.nodes.observer import ObserverNode, VerdictNode
from agents.nodes.route import Router
from agents.nodes.settle import FinishTurn
from agents.nodes.shortcut import ShortcutNode
from agents.nodes.speaker import AgentNode
from agents.nodes.step import GraphBuilder
from agents.nodes.summary import sum_up, summary_due
from agents.nodes.tools import ToolCalls
from agents.nodes.undo import UndoNode
from agents.state import SUPERVISOR, State, holder_of, messages_of
from agents.toolkit.call import AroundToolCall
from agents.toolkit.context import Context
from agents.toolkit.speaker import Speaker, Speakers
from agents.toolkit.tool_search import tool_searches

Graph = CompiledStateGraph[State, Context, Any, Any]


class Edges:
    """Choose the next nodes after each node."""

    def __init__(self, speakers: Speakers, observers: Mapping[str, Observer], finish_turn: FinishTurn) -> None:
        self.speakers, self.observers, self.finish_turn = speakers, observers, finish_turn

    def after_route(self, state: State) -> list[str]:
        """Go to the observers, and at the same time to a dialog that drafts; without observers to the listener."""
        if agreed := state.get("agreed"):
            return [f"{agreed['speaker']}.tools"]
        if state.get("undoing") is not None:
            return ["undo"]
        listener = state["listener"]
        if listener is None:
            if state.get("shortcut"):
                return ["shortcut"]
            if state.get("pending"):
                return ["ask"]
            return self.after_answer(state) if state.get("verdict") else [END]
        observers = [f"{name}.pre_check" for name in state["asked"]]
        return [*observers, listener] if state["drafting"] or not observers else observers

    def after_vote(self, state: State) -> list[str]:
        """Go to the verdict; a dialog that drafts meanwhile waits for the votes itself."""
        return [END] if state["drafting"] else ["verdict"]

    def after_speaking(self, speaker: Speaker) -> Callable[[State], list[str]]:
        """Return the choice of the nodes after a speaker.

        A draft that was thrown away goes to the verdict, calls to the tools, and an answer to the post-checks, to
        `settle`, or to the end.
        """

        def after(state: State) -> list[str]:
            if state["asked"] and state["drafting"]:
                return ["verdict"]
            if holder_of(state) != speaker.name:
                return [SUPERVISOR]
            last = state["talks"][speaker.name]["messages"][-1]
            if isinstance(last, AIMessage) and last.tool_calls:
                return [f"{speaker.name}.tools"]
            checks = self._post_checks(speaker, state)
            if summary_due(state):
                checks.append("summary")
            return checks or self.after_answer(state)

        return after

    def after_answer(self, state: State) -> list[str]:
        """Go to `settle` if anything is left to settle, else to the end."""
        return ["settle" if self.finish_turn.due(state) else END]

    def after_tools(self, state: State) -> list[str]:
        """Go to `ask` if a tool waits for the user, to `settle` if a dialog ended or named another, else to the holder.

        A round of calls that ended with words is an answer.
        """
        if state.get("pending"):
            return ["ask"]
        if state.get("undoing"):
            return ["undo"]
        verdict, holder = state.get("verdict"), holder_of(state)
        if verdict and verdict["kind"] in ("switch", "finished"):
            return ["settle"]
        return self.after_answer(state) if isinstance(messages_of(state, holder)[-1], AIMessage) else [holder]

    def after_asking(self, state: State) -> list[str]:
        """Run the call that the user agreed to; else go to the next question, or back to the speaker that asked."""
        if agreed := state.get("agreed"):
            return [f"{agreed['speaker']}.tools"]
        return ["ask" if state.get("pending") else holder_of(state)]

    def to_listener(self, state: State) -> list[str]:
        """Go to the speaker that hears the message now, if there is one."""
        return [state["listener"] or END]

    def after_shortcut(self, state: State) -> list[str]:
        """Go to the speaker that leads if the result needs a model's words, else back to an open question."""
        return [state["listener"] or ("ask" if state.get("pending") else END)]

    def _post_checks(self, speaker: Speaker, state: State) -> list[str]:
        tests = {name: self.observers[name].when for name in speaker.observers if self.observers[name].post_check}
        if not tests:
            return []
        scene = scene_of(speaker, state, self.speakers)
        return [f"{name}.post_check" for name, when in tests.items() if when is None or when(scene)]


def build_graph(
    speakers: Speakers,
    observers: Mapping[str, Observer],
    *,
    saver: Checkpointer,
    store: BaseStore | None,
    gate: Gate | None = None,
    direct_switch: bool = True,
    observers_first: bool = False,
    around_tool_call: Sequence[AroundToolCall] = (),
) -> Graph:
    """Compile the conversation: route, speakers with their tools, observers, verdict, settle."""
    shortcut, finish_turn = ShortcutNode(speakers, around_tool_call, direct=direct_switch), FinishTurn(speakers)
    watchers = {name: observer.when for name, observer in observers.items() if observer.pre_check}
    unspared = [name for name, observer in observers.items() if observer.always and not observer.spared]
    router = Router(speakers, shortcut, gate or trained_gate(), watchers, unspared, drafts=not observers_first)
    edges = Edges(speakers, observers, finish_turn)
    everyone = [SUPERVISOR, *speakers.dialogs]
    hands = [f"{name}.tools" for name in everyone]
    pre_checks = [f"{name}.pre_check" for name in watchers]
    aside = ["ask", "settle", "shortcut", "undo"]
    builder = GraphBuilder()
    # A speaker may begin in the step of one of these nodes, and leads on from there.
    spoken = ["settle", "summary", *hands, *(f"{name}.post_check" for name, it in observers.items() if it.post_check)]
    begun = [END, *everyone, *spoken]
    builder.add("route", router, edges.after_route, [*begun, *aside, *pre_checks], decides=True)
    builder.add("verdict", VerdictNode(speakers, direct=direct_switch), edges.to_listener, begun, decides=True)
    builder.add("settle", finish_turn, edges.to_listener, begun, decides=True)
    builder.add("ask", InterruptNode(speakers), edges.after_asking, ["ask", *everyone, *hands])
    builder.add("undo", UndoNode(speakers), edges.to_listener, [END, *everyone])
    builder.add("shortcut", shortcut, edges.after_shortcut, [END, "ask", *everyone])
    builder.add("summary", sum_up, edges.after_answer, [END, "settle"])
    prompting = Prompting(speakers, tool_searches(speakers))
    for speaker in speakers:
        calls = ToolCalls(speaker, speakers, prompting.tool_searches.get(speaker.name), around_tool_call)
        _add_speaker(builder, edges, AgentNode(speaker, prompting), calls)
    for name, observer in observers.items():
        if check := observer.pre_check:
            builder.add(f"{name}.pre_check", ObserverNode(name, check, prompting), edges.after_vote, [END, "verdict"])
        if check := observer.post_check:
            builder.add(f"{name}.post_check", ObserverNode(name, check, prompting), edges.after_answer, [END, "settle"])
    return builder.graph.compile(checkpointer=saver, store=store, name="dialog-supervisor")


def _add_speaker(builder: GraphBuilder, edges: Edges, node: AgentNode, calls: ToolCalls) -> None:
    speaker, name, tools = node.speaker, node.speaker.name, f"{node.speaker.name}.tools"
    checks = [f"{check}.post_check" for check in speaker.observers if edges.observers[check].post_check]
    after = [END, tools, "settle", "summary", *checks, *([] if speaker.is_supervisor else [SUPERVISOR])]
    after += ["verdict"] if speaker.observers or not speaker.is_supervisor else []
    step = builder.add(name, node, edges.after_speaking(speaker), after)
    # An agent graph has a journal of its own and continues by it.
    builder.listeners |= {name: step} if speaker.agent is None else {}
    leads_to = [it.name for it in edges.speakers] if speaker.is_supervisor else [name, SUPERVISOR]
    builder.add(tools, calls, edges.after_tools, [END, "ask", "settle", "undo", *leads_to])
