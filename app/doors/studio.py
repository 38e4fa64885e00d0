"""The conversation as a chat graph, for LangGraph's own server and Studio (`langgraph.json`, `langgraph dev`).

The server keeps what is known of people: inbox, transcript and the rest of `Assistant.play` have no part in this. Ours
are the saver, which is open as long as the server, and the ledger, the notes and the remote tools, which are opened for
each run.
"""

import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.config import get_config
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph_sdk.runtime import ServerRuntime

from agents.errors import UsageError
from agents.graph import Graph, build_graph
from agents.memory import Memory, open_memory
from agents.memory.checkpointer import Saver
from agents.memory.inbox import InboxEntry, now_ms
from agents.memory.preferences import Preferences
from agents.state.person import Heard
from agents.toolkit.context import make_context
from agents.toolkit.services import Services
from app.assistant.language import Languages
from app.assistant.message_metadata import metadata_of
from app.assistant.run import STEPS
from app.composition import check_tools, discover
from app.composition.help_chain import check_help, make_help
from app.composition.media_players import check_media, make_players
from app.composition.remote_tools import with_remote_tools
from app.composition.services import dialogs_of, open_services
from app.permissions import Permissions
from app.settings import Settings, read_settings
from prompts import languages


class ChatState(MessagesState):
    """What a chat window shows, and the language it is held in."""

    lang: str


ChatGraph = CompiledStateGraph[ChatState, None, ChatState, ChatState]


@asynccontextmanager
async def make_graph(runtime: ServerRuntime[None]) -> AsyncIterator[ChatGraph]:
    """Build the graph from the settings of this moment; the server brings checkpointer and store.

    What a run needs beside is open until the run is over; who only looks at the graph waits for nothing.

    Raises:
        ConfigError: a setting or a file of remote tools is wrong, or a server cannot be reached.
        ContractError: a tool or a card breaks a rule.
    """
    settings = read_settings()
    check_help(settings)
    check_media(settings)
    speakers, watching = discover()
    speakers = speakers.with_defaults(settings.memory_forwarding)
    check_tools(speakers, complete=not settings.has_remote_tools)
    async with AsyncExitStack() as stack:
        memory: Memory | None = None
        services = Services()
        if runtime.execution_runtime:
            memory = await stack.enter_async_context(open_memory(settings.database_url))
            services = await stack.enter_async_context(open_services(dialogs_of(), memory))
            speakers = await stack.enter_async_context(with_remote_tools(settings, speakers))
            check_tools(speakers)
        # With True its checkpoints live in the thread of the graph around it, and last from turn to turn.
        mode, direct = settings.tool_mode, settings.direct_switch
        conversation = build_graph(speakers, watching, saver=True, store=None, tool_mode=mode, direct_switch=direct)
        graph = StateGraph(ChatState)
        graph.add_node("conversation", _turn(conversation, settings, memory, services))
        graph.add_edge(START, "conversation")
        graph.add_edge("conversation", END)
        yield graph.compile(name="dialog-supervisor")


@asynccontextmanager
async def make_checkpointer() -> AsyncIterator[Saver]:
    """Open the saver of the server's threads, in the file of `DATABASE_URL`; it keeps every step, for the history.

    Raises:
        ConfigError: the file cannot be opened.
    """
    async with open_memory(read_settings().database_url, keep="all") as memory:
        yield memory.saver


def _turn(
    conversation: Graph, settings: Settings, memory: Memory | None, services: Services
) -> Callable[..., Awaitable[dict[str, Any]]]:
    """Return the node; a function, since that is where Studio looks for the graph within."""
    models, default, permissions = settings.models(), settings.app_lang, Permissions(settings.permissions)

    async def turn(state: ChatState, runtime: Runtime[None]) -> dict[str, Any]:
        """Take the last message through the conversation; without one the assistant speaks first."""
        store = runtime.store
        if store is None or memory is None:
            raise UsageError("The conversation keeps what it knows of a person in a store, and there is none.")
        entry = _entry(state, get_config()["configurable"])
        preferences = await Preferences.of(store, entry.user)
        lang = Languages(default, tuple(languages())).choose(entry, preferences.lang, state.get("lang"))
        context = make_context(
            memory,
            entry.thread,
            entry.user,
            models,
            zone=preferences.zone,
            permissions=permissions.of(entry.user),
            help=await make_help(settings, store, memory.notes),
            players=make_players(settings, memory),
            rings=False,
            services=services,
        )
        heard: Heard = {"id": entry.message_id, "text": entry.text, "source": entry.source}
        heard["metadata"] = metadata_of(entry, (), context, "")
        outcome = await conversation.ainvoke(
            {"heard": heard, "lang": lang}, {"recursion_limit": STEPS}, context=context
        )
        messages = [AIMessage(line["text"], name=line["speaker"]) for line in outcome["said"]]
        return {"messages": messages, "lang": outcome["lang"]}

    return turn


def _entry(state: ChatState, place: Mapping[str, Any]) -> InboxEntry:
    thread = str(place["thread_id"])
    user = str(place.get("langgraph_auth_user_id") or thread)
    last = state["messages"][-1] if state.get("messages") else None
    if not isinstance(last, HumanMessage):
        return InboxEntry(thread, uuid.uuid4().hex, user, None, "message", received_ms=now_ms())
    return InboxEntry(thread, last.id or uuid.uuid4().hex, user, last.text, "message", received_ms=now_ms())
