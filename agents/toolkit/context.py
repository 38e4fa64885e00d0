"""The context of a turn and of each tool in it: collaborators and trusted values that no model sees or sets."""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from langchain_core.messages import AnyMessage
from langchain_core.tools import BaseTool, InjectedToolArg
from langgraph.prebuilt import ToolRuntime
from langgraph.runtime import Runtime as NodeRuntime
from langgraph.store.base import BaseStore
from pydantic import BaseModel, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema
from typing_extensions import TypedDict

from agents.events import Event, ModelEnd, ModelStart
from agents.language.identifiers import Aliases
from agents.memory.ledger import Ledger
from agents.memory.locks import ThreadLocks
from agents.memory.notes import NoteStore
from agents.memory.preferences import machine_zone, zone_of_user
from agents.memory.undo_log import UndoLog
from agents.models import Models
from agents.sources.attachments import Contents
from agents.state.citations import CitedText
from agents.state.limits import Limits
from agents.state.person import UserMessage
from agents.state.speaker_state import Json, Pending
from agents.state.verdict import Ballot
from agents.toolkit.citation_registry import CitationRegistry
from agents.toolkit.help import HelpChain
from agents.toolkit.questions.field_values import fitting
from agents.toolkit.services import Service, Services


@dataclass
class StopRequest:
    """Stops a turn between two steps, where nothing is broken off and all work is stored."""

    is_needed: bool = False
    """Whether an irreversible write was made: until it is stored, the turn stops only here."""
    is_made: bool = False
    """Whether the turn is to stop here."""
    halted: Callable[[], object] = lambda: None
    """Called when the turn stops here."""

    async def obey(self) -> None:
        """Go on, or wait for the end of the turn if it is to stop."""
        self.is_needed = False
        if self.is_made:
            self.halted()
            await asyncio.Event().wait()


@dataclass
class TurnUsage:
    """The usage of models in a turn."""

    calls: int = 0
    tokens: int = 0

    def note(self, event: Event) -> None:
        """Count a call when it begins, and its tokens when it ends."""
        if isinstance(event, ModelStart):
            self.calls += 1
        elif isinstance(event, ModelEnd):
            self.tokens += event.input_tokens + event.output_tokens

    def leaves(self, limits: Limits) -> int:
        """Return how many calls are left."""
        is_over = 0 < limits.turn_tokens <= self.tokens
        return 0 if is_over else max(limits.turn_calls - self.calls, 0)

    async def store(self) -> None:
        """Store the usage since the last time; here it is not stored."""


class Budgets(ABC):
    """A service that counts and limits the usage of models over a period; it is found by this type."""

    @abstractmethod
    async def budget(self, user: str, zone: ZoneInfo, *, is_paid: bool = True) -> TurnUsage:
        """Return the counter of a user's turn; it raises ModelUnavailable where a model call is over a limit.

        `is_paid`: none of the turn's models is free.
        """

    @abstractmethod
    def count(self, call: ModelEnd) -> object:
        """Count a model call outside of a turn."""

    @abstractmethod
    async def today(self, lang: str, limits: Limits) -> str:
        """Return today's usage of models in a line, for an operator."""


@dataclass(frozen=True)
class Context:
    """The context of a turn; no model sees or sets it."""

    thread: str
    user: str
    models: Models
    ballot: Ballot = field(default_factory=Ballot)
    """The observers' votes on the message of this turn."""
    now: Callable[[], float] = time.time
    """Returns the present time in Unix seconds, by the clock that rings."""
    rings: bool = True
    """Whether a clock rings notices here; without one nothing may be promised for later."""
    locks: ThreadLocks = field(default_factory=lambda: ThreadLocks(None))
    """Locks for a user's long-term items: a tool that reads and then writes them holds a lock under its own name."""
    zone: ZoneInfo = field(default_factory=machine_zone)
    """The user's time zone when the turn began."""
    called: str = ""
    """The user's name in a remembered form; only the supervisor gets it."""
    lines: Sequence[str] = ()
    """The dialogs' lines of context for the speaker of the turn."""
    system_messages: Sequence[str] = ()
    """The operator's system messages to every speaker of the thread."""
    device: str = ""
    """The door through which the user speaks: "terminal", "telegram"."""
    is_interruptable: bool = True
    """Whether a new message of the user ends the answer."""
    is_shared: bool = False
    """Whether others read along: a group, or a thread in which somebody else wrote."""
    permissions: frozenset[str] = frozenset()
    """The user's permissions."""
    help: HelpChain = field(default_factory=HelpChain)
    ledger: Ledger | None = None
    """The ledger of done writes; without it a write can be repeated."""
    limits: Limits = field(default_factory=Limits)
    spent: TurnUsage = field(default_factory=TurnUsage)
    has_failed: bool = False
    """Whether the former message failed, or an earlier try of this one."""
    undo: UndoLog | None = None
    """The log of the last day's writes; without it nothing can be taken back."""
    stop_request: StopRequest = field(default_factory=StopRequest)
    """Stops the turn before a speaker's model is asked."""
    held: list[CitedText] = field(default_factory=list)
    """The draft that is held back; transcripts keep it if the turn is stopped meanwhile."""
    decided: dict[str, object] = field(default_factory=dict)
    """The state's changes by the present step before its speaker is asked; a stop keeps them."""
    failures: list[Exception] = field(default_factory=list)
    """Errors of that speaker; the next step raises them, once the decision is stored."""
    notes: NoteStore | None = None
    """Notes for a person; None if nobody reads notes."""
    contents: Contents = field(default_factory=Contents)
    client_tools: Mapping[str, BaseTool] = field(default_factory=dict)
    """The tools that the client runs itself, by their names for models."""
    services: Services = field(default_factory=Services)
    sink: Callable[[Event], None] | None = None
    """Takes the turn's events at once; without it they go through LangGraph's stream, in the mode "custom"."""

    def fitting(self, form: type[BaseModel] | None, owner: str, lang: str, values: Json) -> Json:
        """Return values of the form of a dialog or a tool in the kinds of its fields, read as people write them."""
        return fitting(form, owner, lang, values, datetime.fromtimestamp(self.now(), self.zone)) if form else values

    def service(self, kind: type[Service]) -> Service:
        """Return the service of a type, such as a dialog's own tables. Raises LookupError if there is none."""
        return self.services.get(kind)


def emitter(runtime: NodeRuntime[Context] | ToolRuntime[Any, Any]) -> Callable[[Event], None]:
    """Return the function that sends an event to the player of the turn.

    The sink is much cheaper than LangGraph's stream, which wakes the event loop through a socket for each token.
    """
    context = runtime.context
    send: Callable[[Event], None] = getattr(context, "sink", None) or runtime.stream_writer
    if not isinstance(context, Context):
        return send

    def counted(event: Event) -> None:
        context.spent.note(event)
        send(event)

    return counted


class ToolState(TypedDict, total=False):
    """A tool's view of the conversation, in `runtime.state`."""

    messages: list[AnyMessage]
    """One message with the calls that run now."""
    reply: str
    """The id of the first call of the reply with these calls."""
    form: Json
    lang: str
    heard: UserMessage
    aliases: Aliases
    """The small numbers that stand for identifiers."""
    talk: list[AnyMessage]
    """The history of the speaker that called the tool."""
    sources: CitationRegistry
    """The numbers of the documents that searches find."""
    dialogs: Mapping[str, str]
    speaker: str
    foreign: bool
    """Whether foreign text was read since the user last spoke."""
    served: Mapping[str, str]
    """Servers' descriptions of their tools, by server: foreign text that is always read."""
    outside: set[str]
    """The ids of calls that have brought foreign text; see `tells_of_others`."""
    agreed: Pending | None
    """The call that runs now, if the user has just said yes to it."""
    declined: list[str]
    """The marks of calls that the user has declined since they last spoke."""
    allowed: list[str]
    """The marks of tools that ask once and had a yes since then."""
    wrote: bool
    """Whether this turn or the one before it has written something: what a correction may mean."""
    done: list[Json]
    """The calls of turns that the conversation has left, if their effect stays; the same call is not made again."""


class _PassedOn(InjectedToolArg):
    """Hands the runtime to a tool as it is.

    LangChain serialises the checked arguments of every call and then uses only their names. Without this the whole
    state would be written out each time, and every tool would build a schema of the state.
    """

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        nothing = core_schema.plain_serializer_function_ser_schema(lambda _: None)
        return core_schema.is_instance_schema(ToolRuntime, serialization=nothing)


Runtime = Annotated[ToolRuntime[Context, ToolState], _PassedOn()]
"""`runtime.context` is the turn's `Context` (user, thread, device …), `runtime.state` a `ToolState` with `lang`,
`runtime.store` the user's long-term memory, `runtime.tool_call_id` the id of this call.

A parameter of this type is set by the system; no model sees it.
"""


def tells_of_others(runtime: Runtime) -> None:
    """Note that this call's answer to the model (a result, a refusal or a question) has foreign text."""
    runtime.state.setdefault("outside", set()).add(runtime.tool_call_id or "")


def store_of(runtime: Runtime) -> BaseStore:
    """Return the user's long-term memory."""
    assert runtime.store is not None  # the graph is always compiled with a store
    return runtime.store


def present(runtime: Runtime) -> datetime:
    """Return the present time by the clock that rings, to the second."""
    return datetime.fromtimestamp(int(runtime.context.now()), UTC)


async def zone_of(runtime: Runtime) -> ZoneInfo:
    """Return the user's time zone as it is now; a tool of this turn may have set it."""
    return await zone_of_user(runtime.store, runtime.context.user)
