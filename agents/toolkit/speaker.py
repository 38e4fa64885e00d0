"""The supervisor and the dialogs, as plain values from which the nodes are built."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langgraph.store.base import BaseStore
from pydantic import BaseModel, Field

from agents.events import Event
from agents.state import SUPERVISOR, State
from agents.state.message_notes import Forwarding
from agents.state.speaker_state import SpeakerUpdate
from agents.toolkit.context import Context
from agents.toolkit.descriptions import told_by_servers

Resume = Literal["ask", "tell", "silent", "never"]
History = Literal["drop", "summarise"]
ContextLines = Callable[[Context, str], Awaitable[Sequence[str]]]
"""Takes the context of the turn, and the language."""
UserLines = Callable[[Context, BaseStore, str], Awaitable[Sequence[str]]]
"""Takes the context of the turn, the long-term memory, and the language."""


@dataclass(frozen=True)
class Silence:
    """The times at which a silent user is asked whether they are still there."""

    seconds: Annotated[int, Field(ge=0)] = 0
    """Seconds after the last answer, or after the last such question; 0: never."""
    times: Annotated[int, Field(ge=1)] = 1
    """The most questions in a row."""


@dataclass(frozen=True, kw_only=True)
class Speaker:
    """A participant that can hold the conversation: the supervisor or a dialog."""

    name: str
    tools: Sequence[BaseTool] = ()
    """Its tools; those for handoffs, its form and help are added. An agent graph has its own tools."""
    form: type[BaseModel] | None = None
    """The fields that a dialog has to find out; each needs a default that means "not known yet"."""
    remember: bool = False
    """Whether the form is kept in the user's long-term memory."""
    tool: str = ""
    """The name of the tool by which the supervisor hands over to a dialog."""
    description: str = ""
    """The purpose of a dialog: begins with "Used for …"; the supervisor and the observers read it."""
    roles: Mapping[str, str] = field(default_factory=dict)
    """Its prompt by language, in place of the file; a language without one takes that of the fallback."""
    examples: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By language, people's example requests for it, if it has no card."""
    observers: Sequence[str] = ()
    resume: Resume = "ask"
    """The way back to an interrupted dialog: ask the user, tell and go on, go on silently, or never go on."""
    history: History = "summarise"
    """The fate of messages that are cut: they are summed up (one model call each time), or dropped."""
    forwarding: Forwarding | None = None
    """The form in which its model gets messages: "standard", or "custom" with time and user; None: the setting."""
    halts: bool = False
    """Whether "stop" may be for its activity, such as playing; said twice, it ends the dialog all the same."""
    silence: Silence | None = None
    """The times at which a silent user is asked; None: the setting of the application."""
    version: Annotated[int, Field(ge=1)] = 1
    """Raise it when the form or the prompt changes so much that running conversations must be revised."""
    formerly: Sequence[str] = ()
    """Former names of a dialog; stored conversations under them go on here."""
    context_lines: ContextLines | None = None
    """Returns lines for a dialog's own model with each message: the title that plays now, the sources."""
    user_lines: UserLines | None = None
    """Returns lines on the user for the supervisor: facts that a dialog has learnt."""
    is_cramped: bool = False
    """Whether only tools with `always` are bound, however few there are: the model's window is small."""
    agent: Runnable[Any, Any] | None = None
    """A compiled graph over `messages` (such as LangChain's `create_agent` makes) that answers in place of a model.

    It hears the dialog's history, and is given a checkpointer of ours; the `agent_runner` of a plug-in runs it.
    """

    @property
    def is_supervisor(self) -> bool:
        """Whether this is the supervisor, which leads when no dialog does."""
        return self.name == SUPERVISOR

    @property
    def is_custom(self) -> bool:
        """Whether its model gets the metadata of messages."""
        return self.forwarding == "custom"


@dataclass(frozen=True)
class Speakers:
    """The supervisor and the dialogs of this application."""

    supervisor: Speaker
    dialogs: Mapping[str, Speaker] = field(default_factory=dict)
    common: Sequence[BaseTool] = ()
    """Tools that every speaker has, bound or not."""
    help: BaseTool | None = None
    """A tool that replaces `assistant_help`; None: the tool itself."""
    absent: Mapping[str, Speaker] = field(default_factory=dict)
    """The dialogs that do not fit into the window of their model; no handoff leads to them."""

    def __iter__(self) -> Iterator[Speaker]:
        """Go through the supervisor and every dialog."""
        return iter((self.supervisor, *self.dialogs.values()))

    def __getitem__(self, name: str) -> Speaker:
        """Return a speaker by name."""
        return self.supervisor if name == SUPERVISOR else self.dialogs[name]

    @cached_property
    def served(self) -> Mapping[str, str]:
        """Servers' descriptions of their tools, by server."""
        return told_by_servers(tool for speaker in self for tool in speaker.tools)

    def with_defaults(self, forwarding: Forwarding = "standard", silence: Silence | None = None) -> Self:
        """Return the speakers with these defaults where they have no value of their own.

        An agent graph has a prompt of its own: it gets plain messages unless its dialog says otherwise.
        """

        def completed(speaker: Speaker) -> Speaker:
            own = "standard" if speaker.agent else forwarding
            return replace(speaker, forwarding=speaker.forwarding or own, silence=speaker.silence or silence)

        return self.each(completed)

    def each(self, change: Callable[[Speaker], Speaker]) -> Self:
        """Return the speakers, each as a function changes it."""
        dialogs = {name: change(dialog) for name, dialog in self.dialogs.items()}
        return replace(self, supervisor=change(self.supervisor), dialogs=dialogs)

    def remembered(self) -> list[Speaker]:
        """Return the dialogs whose forms are kept in long-term memory."""
        return [dialog for dialog in self.dialogs.values() if dialog.remember]

    def by_tool(self, tool: str) -> Speaker | None:
        """Return the dialog that a supervisor's tool hands over to."""
        return next((dialog for dialog in self.dialogs.values() if dialog.tool == tool), None)

    def absent_by(self, name: str | None, tool: str | None) -> Speaker | None:
        """Return the absent dialog of this name, or the one that this supervisor's tool would hand over to."""
        fitting = (
            dialog for dialog in self.absent.values() if dialog.name == name or (not name and dialog.tool == tool)
        )
        return next(fitting, None)

    def successor(self, name: str) -> Speaker | None:
        """Return the dialog that has this name now, or once had; None when it is gone."""
        heirs = (dialog for dialog in self.dialogs.values() if name in dialog.formerly)
        return self.dialogs.get(name) or next(heirs, None)


@dataclass(frozen=True)
class AgentTurn:
    """One call of a dialog's agent graph; `history` has all messages of the dialog."""

    speaker: Speaker
    state: State
    context: Context
    history: Sequence[AnyMessage]
    emit: Callable[[Event], None]
    feed: Callable[[str], None]
    """Takes the pieces of the answer as they come."""


class AgentGraphs(ABC):
    """A service that runs the agent graphs in place of dialogs' models; it is found by this type."""

    @abstractmethod
    async def ask(self, turn: AgentTurn) -> tuple[AIMessage, SpeakerUpdate]:
        """Return an answer, calls of `ask_user`, or a call of `hand_back`; and the values of the graph's own keys.

        Raises:
            ModelUnavailable: the provider of the agent's model failed.
            ContractError: the graph does something that no dialog can do.
        """
