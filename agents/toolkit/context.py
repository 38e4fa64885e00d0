"""What a turn is given: collaborators and trusted values that no model sees or sets."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from zoneinfo import ZoneInfo

from langchain_core.messages import AnyMessage
from langgraph.prebuilt import ToolRuntime
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from agents.events import Event
from agents.language.identifiers import Aliases
from agents.memory import Memory
from agents.memory.ledger import Ledger
from agents.memory.locks import ThreadLocks
from agents.memory.notes import Notes
from agents.memory.preferences import machine_zone
from agents.memory.undo_log import UndoLog
from agents.models import Models
from agents.sources.attachments import Contents
from agents.state.limits import Limits
from agents.state.person import Heard
from agents.state.talk import Json
from agents.state.verdict import Ballot
from agents.toolkit.help import HelpChain
from agents.toolkit.services import Service, Services
from agents.toolkit.source_book import SourceBook


def nothing() -> None:
    """Do nothing."""


@dataclass
class Brake:
    """Stops a turn between two steps, where nothing is broken off and all that was done is stored."""

    is_needed: bool = False
    """Whether something is done that nobody can take back: until it is stored, the turn stops only here."""
    is_pulled: bool = False
    """Whether the turn is to stop here."""
    halted: Callable[[], object] = nothing
    """Is called when the turn has come here and stops."""

    async def pass_by(self) -> None:
        """Go on, or wait for the end of the turn if it is to stop."""
        self.is_needed = False
        if self.is_pulled:
            self.halted()
            await asyncio.Event().wait()


@dataclass
class HeldText:
    """What a speaker's model has made of an answer that the user does not see yet."""

    text: str = ""


@dataclass(frozen=True)
class Context:
    """What a turn is given and no model sees or sets."""

    thread: str
    user: str
    models: Models
    ballot: Ballot = field(default_factory=Ballot)
    """The observers' votes on the message of this turn."""
    now: Callable[[], float] = time.time
    """Returns the present time in Unix seconds, by the clock that rings."""
    rings: bool = True
    """Whether something rings notices here; without it nothing may be promised for later."""
    locks: ThreadLocks = field(default_factory=lambda: ThreadLocks(None))
    """Locks for a user's long-term items: a tool that reads and then writes them holds a name of its own here."""
    zone: ZoneInfo = field(default_factory=machine_zone)
    """The user's time zone when the turn began."""
    called: str = ""
    """What to call the user, as a remembered form has it; only the supervisor is given it."""
    lines: Sequence[str] = ()
    """What dialogs tell the speaker whose turn it is, a line each."""
    device: str = ""
    """The door through which the user speaks: "terminal", "telegram"."""
    is_interruptable: bool = True
    """Whether a new message of the user ends the answer."""
    is_shared: bool = False
    """Whether others read along: a group, or a thread in which somebody else wrote."""
    permissions: frozenset[str] = frozenset()
    """What the user's tools may do."""
    help: HelpChain = field(default_factory=HelpChain)
    ledger: Ledger | None = None
    """What was written; without it a write can be repeated."""
    limits: Limits = field(default_factory=Limits)
    undo: UndoLog | None = None
    """What was written in the last day, to be taken back; without it nothing can be."""
    brake: Brake = field(default_factory=Brake)
    """Stops the turn before a speaker's model is asked."""
    held: HeldText = field(default_factory=HeldText)
    """The draft that is held back; transcripts keep it if the turn is stopped meanwhile."""
    notes: Notes | None = None
    """Notes for a person; None where there are none."""
    contents: Contents = field(default_factory=Contents)
    services: Services = field(default_factory=Services)
    sink: Callable[[Event], None] | None = None
    """Takes the turn's events at once; without it they go through LangGraph's stream, in the mode "custom"."""

    def service(self, kind: type[Service]) -> Service:
        """Return the service of a type, such as a dialog's own tables. Raises LookupError if there is none."""
        return self.services.get(kind)


def make_context(
    memory: Memory,
    thread: str,
    user: str,
    models: Models,
    *,
    zone: ZoneInfo | None,
    device: str,
    permissions: frozenset[str],
    help: HelpChain,
    limits: Limits,
    services: Services,
) -> Context:
    """Return the context of a turn: what one database holds, and the trusted values of a user.

    `zone` is the time zone that the user has set, None if there is none.
    """
    return Context(
        thread,
        user,
        models,
        now=memory.now,
        locks=memory.locks,
        zone=zone or machine_zone(),
        device=device,
        permissions=permissions,
        help=help,
        ledger=memory.ledger,
        limits=limits,
        undo=memory.undo,
        notes=memory.notes,
        services=services,
    )


def emitter(runtime: Runtime[Context] | ToolRuntime[Any, Any]) -> Callable[[Event], None]:
    """Return the function that sends an event to whoever plays the turn.

    The sink is much cheaper than LangGraph's stream, which wakes the event loop through a socket for each token.
    """
    sink: Callable[[Event], None] | None = getattr(runtime.context, "sink", None)
    return sink or runtime.stream_writer


class ToolState(TypedDict, total=False):
    """What a tool sees of the conversation, in `runtime.state`."""

    messages: list[AnyMessage]
    """One message with the calls that are run now."""
    form: Json
    lang: str
    heard: Heard
    aliases: Aliases
    """The small numbers that stand for identifiers."""
    talk: list[AnyMessage]
    """The history of the speaker that called the tool."""
    sources: SourceBook
    """The numbers of the documents that searches find."""
    dialogs: Mapping[str, str]
    labels: Mapping[str, str]
    """What identifiers are called, as far as results have told."""
    speaker: str
    foreign: bool
    """Whether text from outside was read since the user last spoke."""
    answers: list[str]
    """What the user has answered to the interrupts of the call that is run again."""
    agreed: str
    """The id of the call that the user has said yes to; empty if there is none."""
    declined: list[str]
    """The marks of the calls that the user has said no to since they last spoke."""
