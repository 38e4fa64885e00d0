"""Who can speak: the supervisor and the dialogs, as plain values the nodes are built from."""

from collections.abc import Mapping, Sequence
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
    """One who can hold the conversation; for a dialog also how it takes over and gives back."""

    name: str
    tools: Sequence[BaseTool] = ()
    form: type[BaseModel] | None = None
    remember: bool = False
    tool: str = ""
    description: str = ""
    observers: Sequence[str] = ()
    resume: Resume = "ask"
    history: History = "drop"
    version: int = 1
    formerly: Sequence[str] = ()
    agent: Runnable[Any, Any] | None = None

    @property
    def is_supervisor(self) -> bool:
        """Whether this is the speaker that leads when no dialog does."""
        return self.name == SUPERVISOR


@dataclass(frozen=True)
class Speakers:
    """Everyone who can speak in this application."""

    supervisor: Speaker
    dialogs: Mapping[str, Speaker] = field(default_factory=dict)
    help: BaseTool | None = None
    """What stands in for `assistant_help`, if anything does."""

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
