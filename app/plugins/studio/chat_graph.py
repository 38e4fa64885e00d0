"""The conversation as a chat graph, for LangGraph's own server and Studio (`langgraph.json`, `langgraph dev`).

The server keeps the data of people: inbox, transcript and the rest of `Assistant.play` have no part in this. Our own
parts are the saver, which is open as long as the server, and the ledger, the notes and the remote tools, which are
opened for each run. The state of the conversation is a value in the graph's own state. So a copied thread has it whole,
a fork of a checkpoint goes on from that checkpoint, and a run that is broken off leaves nothing half done in it.
"""

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Annotated, cast

from langchain_core.callbacks import AsyncCallbackManager, AsyncCallbackManagerForLLMRun
from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, LLMResult
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import get_async_callback_manager_for_config
from langgraph.config import get_config
from langgraph.constants import TAG_NOSTREAM
from langgraph.errors import GraphInterrupt
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from langgraph.types import Command, Overwrite, interrupt
from langgraph_sdk.runtime import ServerRuntime

from agents.conversation.prompt import human
from agents.errors import UsageError
from agents.events import RETRY, Error, Event, Message, Token
from agents.graph import Graph
from agents.memory.checkpointer import Saver
from agents.memory.inbox import InboxEntry, now_ms
from agents.memory.preferences import Preferences
from agents.state import SUPERVISOR, State, holder_of, messages_of, updated
from agents.state.history import set_before
from agents.state.person import UserMessage
from agents.toolkit import questions
from agents.toolkit.context import Context
from app.assistant.run import INTERRUPT
from app.assistant.turn import Languages, metadata_of
from app.composition import Parts, open_parts, plugins_found
from app.composition.served_tools import openers
from app.databases import backend_of
from app.doors.client_answers import MARK, text_of
from app.plugins.studio.conversation import build_conversation, conversation_of
from app.process.tasks import cancel
from app.settings import Settings, read_settings
from prompts import languages, phrase


class ChatState(MessagesState):
    """The state for a chat window: messages, and the language of the conversation."""

    lang: str


class ThreadState(State, total=False):
    """The state of a thread: a conversation, whose `heard` is the last message that was answered, and its window."""

    messages: Annotated[list[AnyMessage], add_messages]
    taken: UserMessage
    """The message that waits for its answer; once it is answered, it becomes `heard`."""
    received: str
    """The id of the last of `messages` that was taken."""
    seen: list[str]
    """The ids of the `messages` that the conversation has."""


ChatGraph = CompiledStateGraph[ThreadState, None, ChatState, ChatState]


@asynccontextmanager
async def make_graph(runtime: ServerRuntime[None]) -> AsyncIterator[ChatGraph]:
    """Build the graph from the settings of this moment; the server brings checkpointer and store.

    A run opens its own further parts. A mere look at the graph opens nothing.

    Raises:
        ConfigError: a setting or a file of remote tools is wrong.
        ContractError: a tool or a card breaks a rule.
    """
    settings = read_settings()
    # A wrong model is reported now, not in the first run.
    settings.models()
    conversation = await asyncio.to_thread(conversation_of, settings)
    graph = StateGraph(ThreadState, input_schema=ChatState, output_schema=ChatState)
    graph.add_node("receive", receive, destinations=("conversation", "ask", END))
    graph.add_node("conversation", _turn(conversation, settings), destinations=("receive", "ask"))
    graph.add_node("ask", ask, destinations=("conversation",))
    graph.add_edge(START, "receive")
    made = graph.compile(name="dialog-supervisor")
    # The state of the speakers is not for a chat window.
    made.stream_channels = [*ChatState.__annotations__]
    yield made


@asynccontextmanager
async def make_checkpointer() -> AsyncIterator[Saver]:
    """Open the saver of the server's threads, in the file of `DATABASE_URL`; it keeps every step, for the history.

    The server does this when it starts, and can wait then: so the conversation is built here first.

    Raises:
        ConfigError: the file cannot be opened, or a setting is wrong.
        ContractError: a tool or a card breaks a rule.
    """
    settings = read_settings()
    await asyncio.to_thread(conversation_of, settings)
    async with backend_of(settings.database_url).open(keep="all") as memory:
        # The server counts the versions of channels in texts, which sort like numbers.
        memory.saver.version_types = (str, int)
        yield memory.saver


async def receive(state: ThreadState) -> Command[str]:
    """Take the next new message; without one, the message whose answer was broken off, if there is one.

    In an empty thread the assistant speaks first.
    """
    messages = state.get("messages", [])
    if new := [message for message in _after(messages, state.get("received")) if isinstance(message, HumanMessage)]:
        taken: UserMessage = {"id": str(new[0].id), "text": new[0].text, "source": "message"}
        return Command(update={"taken": taken, "received": taken["id"]}, goto="conversation")
    if not messages:
        return Command(
            update={"taken": {"id": uuid.uuid4().hex, "text": None, "source": "message"}}, goto="conversation"
        )
    if state.get("taken", {}).get("id") != state.get("heard", {}).get("id"):
        return Command(goto="conversation")
    return Command(goto="ask" if state.get("pending") else END)


async def ask(state: ThreadState) -> Command[str]:
    """Wait for the answer to a tool's question; a message in place of the answer answers the question or leaves it."""
    question = questions.ask(state["pending"][0], state["lang"])
    text = text_of(question, interrupt(question.plain()))
    taken: UserMessage = {"id": f"{state['heard']['id']}{MARK}{question.id}", "text": text, "source": questions.CHOICE}
    return Command(update={"taken": taken}, goto="conversation")


def _turn(conversation: Graph, settings: Settings) -> Callable[..., Awaitable[Command[str]]]:
    """Return the node. It is a function, because Studio looks for inner graphs in functions."""

    async def turn(state: ThreadState, runtime: Runtime[None]) -> Command[str]:
        """Take a message through the conversation."""
        if runtime.store is None:
            raise UsageError("The conversation keeps what it knows of a person in a store, and there is none.")
        async with open_parts(settings) as parts:
            graph = (
                build_conversation(settings, parts.speakers, parts.watching)
                if openers(plugins_found())
                else conversation
            )
            return await _played(graph, state, parts, runtime.store, runtime.stream_writer)

    return turn


async def _played(
    conversation: Graph, state: ThreadState, parts: Parts, store: BaseStore, write: Callable[[object], None]
) -> Command[str]:
    config, taken = get_config(), state["taken"]
    thread = str(config["configurable"]["thread_id"])
    signed_in = config["configurable"].get("langgraph_auth_user_id")
    user = str(signed_in or thread)
    entry = InboxEntry(thread, taken["id"], user, taken["text"], taken["source"], received_ms=now_ms())
    preferences = await Preferences.of(store, user)
    lang = Languages(parts.settings.app_lang, tuple(languages())).choose(entry, preferences.lang, state.get("lang"))
    spoken = SpokenMessages(get_async_callback_manager_for_config(config), write)
    context = replace(parts.context(thread, user, preferences.zone), rings=False, sink=spoken.events.put_nowait)
    heard: UserMessage = {**taken, "metadata": metadata_of(entry, (), context, "")}
    missed = _missed(state)
    begun = {**_with_missed(state, missed, lang), "heard": heard, "lang": lang}
    if not signed_in:
        # Without accounts a thread is its user; in a copied thread the user has another name.
        begun["writer"] = user
    run = asyncio.create_task(_run(conversation, cast(State, begun), context))
    run.add_done_callback(lambda _: spoken.events.put_nowait(None))
    try:
        await spoken.stream()
        after = await run
    finally:
        await cancel([run])
    answers = [AIMessage(line["text"], name=line["speaker"], id=spoken.id_of(line["text"])) for line in after["said"]]
    if after.get("forgets"):
        notice = phrase("forget_elsewhere", after["lang"], thread=thread)
        answers.append(AIMessage(notice, name=SUPERVISOR, id=uuid.uuid4().hex))
    ids = [
        *state.get("seen", []),
        *(message.id for message in missed),
        state.get("received"),
        *(answer.id for answer in answers),
    ]
    overwritten = {
        name: Overwrite(value) if name in ("talks", "votes", "said") else value for name, value in after.items()
    }
    update = {**overwritten, "messages": answers, "seen": [*dict.fromkeys(id for id in ids if id)]}
    return Command(update=update, goto="receive")


async def _run(conversation: Graph, begun: State, context: Context) -> State:
    """Return the state after a turn, which ends at the latest where a tool asks the user something."""
    config: RunnableConfig = {"recursion_limit": context.limits.steps, "tags": [TAG_NOSTREAM]}
    after: State = begun
    with suppress(GraphInterrupt):
        async for values in conversation.astream(begun, config, context=context, stream_mode="values"):
            after = cast(State, {name: value for name, value in values.items() if name != INTERRUPT})
    return after


def _after(messages: Sequence[AnyMessage], id: str | None) -> Sequence[AnyMessage]:
    """Return the messages behind the one with this id; without it, those behind the last answer."""
    places = [place for place, message in enumerate(messages) if message.id == id]
    places = places or [place for place, message in enumerate(messages) if isinstance(message, AIMessage)]
    return messages[places[-1] + 1 :] if places else messages


def _missed(state: ThreadState) -> list[AnyMessage]:
    """Return the messages that stand in the window before the new message, and are missing in the conversation.

    Their answers were broken off, or a client has put them there.
    """
    messages, seen_ids = state.get("messages", []), {*state.get("seen", []), state.get("received")}
    behind = {message.id for message in _after(messages, state.get("received"))}
    return [
        message
        for message in messages
        if message.id not in seen_ids | behind and isinstance(message, HumanMessage | AIMessage) and message.text
    ]


def _with_missed(state: ThreadState, missed: Sequence[AnyMessage], lang: str) -> State:
    """Return the conversation with these messages added to those of its active speaker."""
    own = cast(State, {name: value for name, value in state.items() if name in State.__annotations__})
    added: list[AnyMessage] = [
        human({"id": str(message.id), "text": message.text, "source": "message"}, lang)
        if isinstance(message, HumanMessage)
        else AIMessage(message.text, id=message.id)
        for message in missed
    ]
    holder, before = holder_of(own), messages_of(own, holder_of(own))
    # Only the user's answer may stand behind a call that waits for it.
    messages = set_before(before, added) if own.get("pending") else [*before, *added]
    return updated(own, {"talks": {holder: {"messages": messages}}}) if added else own


class SpokenMessages:
    """The messages of a turn, streamed as those of a chat model, under their ids in the state."""

    def __init__(self, callbacks: AsyncCallbackManager, write: Callable[[object], None]) -> None:
        self.events: asyncio.Queue[Event | None] = asyncio.Queue()
        self._callbacks, self._write = callbacks, write
        self._run: AsyncCallbackManagerForLLMRun | None = None
        self._shown: AIMessageChunk | None = None
        self._ids: dict[str, str] = {}

    def id_of(self, text: str) -> str:
        """Return the id of the message with this text."""
        return self._ids.pop(text, None) or uuid.uuid4().hex

    async def stream(self) -> None:
        """Stream the events until there is None; clients that stream "custom" get all of them, too."""
        while (event := await self.events.get()) is not None:
            self._write(event.plain())
            match event:
                case Token(speaker=speaker, text=text):
                    await self._say(speaker, text)
                case Message(speaker=speaker, text=text):
                    if self._shown and not text.startswith(self._shown.text):
                        await self._end()
                    await self._say(speaker, text.removeprefix(self._shown.text if self._shown else ""))
                    if self._shown:
                        self._ids[text] = str(self._shown.id)
                    await self._end()
                case Error(code=code) if code == RETRY:
                    await self._end()
        await self._end()

    async def _say(self, speaker: str, text: str) -> None:
        if not text:
            return
        if self._run is None:
            (self._run,) = await self._callbacks.on_chat_model_start({}, [[]])
        id = self._shown.id if self._shown else uuid.uuid4().hex
        piece = AIMessageChunk(content=text, name=speaker, id=id)
        await self._run.on_llm_new_token(text, chunk=ChatGenerationChunk(message=piece))
        self._shown = self._shown + piece if self._shown else piece

    async def _end(self) -> None:
        if self._run and self._shown:
            message = AIMessage(self._shown.text, name=self._shown.name, id=self._shown.id)
            await self._run.on_llm_end(LLMResult(generations=[[ChatGeneration(message=message)]]))
        self._run = self._shown = None
