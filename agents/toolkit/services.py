"""The services that the parts of an application offer each other; each is found by its type."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar, cast

from agents.memory.inbox import TranscriptLine
from agents.memory.undo_log import LoggedWrite

Service = TypeVar("Service")


class Services:
    """Objects with the lifetime of the application: the database, the settings and the services of each dialog."""

    def __init__(self, *services: object) -> None:
        self._services: list[object] = [*services]
        self._found: dict[type, object] = {}
        """The services by the types for which they were found: each turn asks for some."""

    def add(self, *services: object) -> None:
        """Add services."""
        self._services += services
        self._found.clear()

    def find(self, kind: type[Service]) -> Service | None:
        """Return the service of a type, or of a subclass of it; None if nobody has added one."""
        if kind not in self._found:
            self._found[kind] = next((service for service in self._services if isinstance(service, kind)), None)
        return cast("Service | None", self._found[kind])

    def get(self, kind: type[Service]) -> Service:
        """Return the service of a type. Raises LookupError if nobody has added one."""
        service = self.find(kind)
        if service is None:
            raise LookupError(f"there is no service of the type {kind.__name__}; a dialog's `services` must yield it")
        return service

    def every(self, kind: type[Service]) -> list[Service]:
        """Return all services of a type, in the order in which they were added."""
        return [service for service in self._services if isinstance(service, kind)]


class Alarms(ABC):
    """A service that keeps alarms; it is found by this type."""

    @abstractmethod
    async def texts(self, user: str) -> Sequence[str]:
        """Return the texts of the user's coming alarms, in the user's words."""


class MemoryReceiver(ABC):
    """A service that gets the memory of a thread when it is stopped; it is found by this type."""

    @abstractmethod
    async def push(self, thread: str, name: str, lines: Sequence[TranscriptLine]) -> None:
        """Take the transcript of a thread; `name` is the caller's name of the thread."""


class Takeover(ABC):
    """A service with which people answer in the assistant's place; it is found by this type."""

    @abstractmethod
    async def holder(self, thread: str) -> str:
        """Return the name of the person who holds a thread; empty if the assistant has it."""

    @abstractmethod
    async def observe(self, thread: str, user: str, lang: str, reason: str) -> None:
        """Call a person because an observer wants one; the call is stored before the observer's vote counts."""

    @abstractmethod
    async def unshown(self, thread: str) -> Sequence[str]:
        """Return the words of people in a thread that no door has shown yet; they count as shown."""

    @abstractmethod
    async def erase_part(self, thread: str, user: str) -> None:
        """Delete the records of one user in a thread of several."""


@dataclass(frozen=True, kw_only=True)
class Fact:
    """A value of a form, or a tool's write, in the user's language."""

    key: str
    """The same for each telling of the same fact: "form/profile/home", "write/17"."""
    kind: str
    """The kind of its items in the undo log, such as "form"; empty for a call that enters none."""
    dialog: str
    text: str
    """Empty if the value was taken out."""
    write: LoggedWrite
    """Its number is 0 if the undo log does not have it any more."""


@dataclass(frozen=True, kw_only=True)
class DialogEnd:
    """The end of a dialog or of a thread for one of its users, or an undo of writes before an end."""

    thread: str
    user: str
    lang: str
    is_shared: bool
    """Whether others read along; then the facts have only words that all could read."""
    message: str
    turn: int
    is_over: bool
    """Whether it is an end; an undo has no facts."""
    facts: Sequence[Fact]
    undone: Collection[int]
    """The numbers of the writes that were taken back within the last day."""


class LongTermMemory(ABC):
    """A service that keeps the facts of conversations, each end once; it is found by this type."""

    @abstractmethod
    async def keep(self, ending: DialogEnd) -> None:
        """Keep the facts of an end. It is called before the end is stored, and after a crash again."""

    @abstractmethod
    async def entries(self, user: str) -> Sequence[Mapping[str, object]]:
        """Return the kept facts of a user, without groups, as plain data."""

    @abstractmethod
    async def clear(self, user: str) -> None:
        """Delete all kept facts of a user, groups left aside; the kept ends do not bring them back."""

    @abstractmethod
    async def erase(self, user: str, *, thread: str | None = None, dialog: str = "", field: str = "") -> None:
        """Delete all kept facts of a user, or only those of a thread, of a dialog's form or of a field of it."""
