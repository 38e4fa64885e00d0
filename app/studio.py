"""The conversation as a chat graph, for LangGraph's own server and Studio (`langgraph.json`, `langgraph dev`).

The server keeps the threads: inbox, transcript and the rest of `Assistant.play` have no part in this.
"""

import uuid
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.config import get_config
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from agents.errors import UsageError
from agents.memory.letters import Letter
from agents.memory.locks import ThreadLocks
from agents.state import Context
from app.composition import discover
from app.graph import Graph, build_graph
from app.help import check_help, make_help
from app.language import Languages
from app.running import STEPS
from app.settings import Settings, read_settings
from prompts import languages


class ChatState(MessagesState):
    """What a chat window shows, and the language it is held in."""

    lang: str


ChatGraph = CompiledStateGraph[ChatState, None, ChatState, ChatState]


def make_graph() -> ChatGraph:
    """Build the graph from the settings of this moment; the server brings checkpointer and store.

    Raises:
        ConfigError: a setting is wrong.
    """
    settings = read_settings()
    check_help(settings)
    # With True its checkpoints live in the thread of the graph around it, and last from turn to turn.
    conversation = build_graph(*discover(), saver=True, store=None)
    graph = StateGraph(ChatState)
    graph.add_node("conversation", _turn(conversation, settings))
    graph.add_edge(START, "conversation")
    graph.add_edge("conversation", END)
    return graph.compile(name="dialog-supervisor")


def _turn(conversation: Graph, settings: Settings) -> Callable[..., Awaitable[dict[str, Any]]]:
    """Return the node; a function, since that is where Studio looks for the graph within."""
    models, default, locks = settings.models(), settings.app_lang, ThreadLocks(None)

    async def turn(state: ChatState, runtime: Runtime[None]) -> dict[str, Any]:
        """Take the last message through the conversation; without one the assistant speaks first."""
        if runtime.store is None:
            raise UsageError("The conversation keeps what it knows of a person in a store, and there is none.")
        letter = _letter(state, get_config()["configurable"])
        lang = await Languages(default, tuple(languages()), runtime.store).choose(letter, None, state.get("lang"))
        helping = await make_help(settings, runtime.store, None)
        outcome = await conversation.ainvoke(
            {"heard": {"id": letter.message_id, "text": letter.text, "source": letter.source}, "lang": lang},
            {"recursion_limit": STEPS},
            context=Context(letter.thread, letter.user, models, locks=locks, help=helping),
        )
        said = [AIMessage(one["text"], name=one["speaker"]) for one in outcome["said"]]
        return {"messages": said, "lang": outcome["lang"]}

    return turn


def _letter(state: ChatState, place: Mapping[str, Any]) -> Letter:
    thread = str(place["thread_id"])
    user = str(place.get("langgraph_auth_user_id") or thread)
    last = state["messages"][-1] if state.get("messages") else None
    if not isinstance(last, HumanMessage):
        return Letter(thread, uuid.uuid4().hex, user, None, "message")
    return Letter(thread, last.id or uuid.uuid4().hex, user, last.text, "message")
