"""The conversation as a chat graph, for LangGraph's own server and Studio (`langgraph.json`, `langgraph dev`).

The server keeps what is known of people: inbox, transcript and the rest of `Assistant.play` have no part in this. Ours
are the saver, which is open as long as the server, and the ledger, the notes and the remote tools, which are opened for
each run.
"""

import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.config import get_config
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph_sdk.runtime import ServerRuntime

from agents.errors import UsageError
from agents.graph import Graph, build_graph
from agents.memory.checkpointer import Saver
from agents.memory.inbox import InboxEntry, now_ms
from agents.memory.preferences import Preferences
from agents.state import SUPERVISOR
from agents.state.person import Heard
from app.assistant.turn import Languages, metadata_of
from app.composition import Parts, discover_checked, open_parts
from app.composition.databases import open_database
from app.settings import read_settings
from prompts import languages, phrase


class ChatState(MessagesState):
    """What a chat window shows, and the language it is held in."""

    lang: str


ChatGraph = CompiledStateGraph[ChatState, None, ChatState, ChatState]


@asynccontextmanager
async def make_graph(runtime: ServerRuntime[None]) -> AsyncIterator[ChatGraph]:
    """Build the graph from the settings of this moment; the server brings checkpointer and store.

    Everything else that a run needs stays open until the run is over. A mere look at the graph opens nothing.

    Raises:
        ConfigError: a setting or a file of remote tools is wrong, or a server cannot be reached.
        ContractError: a tool or a card breaks a rule.
    """
    settings = read_settings()
    async with AsyncExitStack() as stack:
        # A wrong model is reported now, not in the first run.
        settings.models()
        parts: Parts | None = None
        if runtime.execution_runtime:
            parts = await stack.enter_async_context(open_parts(settings))
        speakers, watching = (parts.speakers, parts.watching) if parts else discover_checked(settings)
        # With True its checkpoints live in the thread of the graph around it, and last from turn to turn.
        direct = settings.direct_switch
        conversation = build_graph(speakers, watching, saver=True, store=None, direct_switch=direct)
        graph = StateGraph(ChatState)
        graph.add_node("conversation", _turn(conversation, parts))
        graph.add_edge(START, "conversation")
        graph.add_edge("conversation", END)
        yield graph.compile(name="dialog-supervisor")


@asynccontextmanager
async def make_checkpointer() -> AsyncIterator[Saver]:
    """Open the saver of the server's threads, in the file of `DATABASE_URL`; it keeps every step, for the history.

    Raises:
        ConfigError: the file cannot be opened.
    """
    settings = read_settings()
    async with open_database(settings.database_url, keep="all", key=settings.database_key) as memory:
        yield memory.saver


def _turn(conversation: Graph, parts: Parts | None) -> Callable[..., Awaitable[dict[str, object]]]:
    """Return the node. It is a function, because Studio looks for inner graphs in functions."""

    async def turn(state: ChatState, runtime: Runtime[None]) -> dict[str, object]:
        """Take the last message through the conversation; without one the assistant speaks first."""
        if runtime.store is None or parts is None:
            raise UsageError("The conversation keeps what it knows of a person in a store, and there is none.")
        entry = _entry(state, get_config()["configurable"])
        preferences = await Preferences.of(runtime.store, entry.user)
        spoken = Languages(parts.settings.app_lang, tuple(languages()))
        lang = spoken.choose(entry, preferences.lang, state.get("lang"))
        context = replace(parts.context(entry.thread, entry.user, preferences.zone), rings=False)
        heard: Heard = {"id": entry.message_id, "text": entry.text, "source": entry.source}
        heard["metadata"] = metadata_of(entry, (), context, "")
        outcome = await conversation.ainvoke(
            {"heard": heard, "lang": lang}, {"recursion_limit": context.limits.steps}, context=context
        )
        messages = [AIMessage(line["text"], name=line["speaker"]) for line in outcome["said"]]
        if outcome.get("forgets"):
            notice = phrase("forget_elsewhere", outcome["lang"], thread=entry.thread)
            messages.append(AIMessage(notice, name=SUPERVISOR))
        return {"messages": messages, "lang": outcome["lang"]}

    return turn


def _entry(state: ChatState, place: Mapping[str, object]) -> InboxEntry:
    thread = str(place["thread_id"])
    user = str(place.get("langgraph_auth_user_id") or thread)
    last = state["messages"][-1] if state.get("messages") else None
    if not isinstance(last, HumanMessage):
        return InboxEntry(thread, uuid.uuid4().hex, user, None, "message", received_ms=now_ms())
    return InboxEntry(thread, last.id or uuid.uuid4().hex, user, last.text, "message", received_ms=now_ms())
