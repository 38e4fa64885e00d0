"""The supervisor and the dialogs, as plain values from which the nodes are built."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from pydantic import BaseModel

from agents.state import SUPERVISOR

Resume = Literal["ask", "tell", "silent", "never"]
History = Literal["drop", "summarise"]


@dataclass(frozen=True, kw_only=True)
class Speaker:
    """A participant that can hold the conversation: the supervisor or a dialog."""

    name: str
    tools: Sequence[BaseTool] = ()
    """Its own tools; those for hand-overs, its form and help come on top."""
    form: type[BaseModel] | None = None
    """What a dialog has to find out."""
    remember: bool = False
    """Whether the form is kept in the user's long-term memory."""
    tool: str = ""
    """The name of the tool by which the supervisor hands over to this dialog."""
    description: str = ""
    """What a dialog is used for."""
    observers: Sequence[str] = ()
    """The observers that watch a dialog, by name."""
    resume: Resume = "ask"
    """What happens to a dialog that was interrupted: ask the user, tell and go on, go on silently, or never go on."""
    history: History = "drop"
    """What becomes of old messages: dropped, or summed up."""
    version: int = 1
    """Raised when stored conversations of a dialog must be revised."""
    formerly: Sequence[str] = ()
    """Names that a dialog had before."""
    agent: Runnable[Any, Any] | None = None
    """A compiled agent graph over `messages` that answers in place of the dialog's model."""

    @property
    def is_supervisor(self) -> bool:
        """Whether this is the speaker that leads when no dialog does."""
        return self.name == SUPERVISOR


@dataclass(frozen=True)
class Speakers:
    """The supervisor and the dialogs of this application."""

    supervisor: Speaker
    dialogs: Mapping[str, Speaker] = field(default_factory=dict)
    help: BaseTool | None = None
    """A tool that replaces `assistant_help`; None: the tool itself."""

    def __iter__(self) -> Iterator[Speaker]:
        """Go through the supervisor and every dialog."""
        return iter((self.supervisor, *self.dialogs.values()))

    def __getitem__(self, name: str) -> Speaker:
        """Return a speaker by name."""
        return self.supervisor if name == SUPERVISOR else self.dialogs[name]

    def by_tool(self, tool: str) -> Speaker | None:
        """Return the dialog that a supervisor's tool hands over to."""
        return next((dialog for dialog in self.dialogs.values() if dialog.tool == tool), None)

    def successor(self, name: str) -> Speaker | None:
        """Return the dialog that goes by this name now, or once did; None when it is gone."""
        heirs = (dialog for dialog in self.dialogs.values() if name in dialog.formerly)
        return self.dialogs.get(name) or next(heirs, None)
