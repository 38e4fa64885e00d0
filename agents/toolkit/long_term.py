"""What a conversation leaves behind when it ends, and whoever keeps that; a service that is found by its type."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from agents.memory.undo_log import LoggedWrite


@dataclass(frozen=True, kw_only=True)
class Fact:
    """A value of a form, or what a tool has written, in the user's language."""

    key: str
    """The same whenever the same thing is told again: "form/profile/home", "write/17"."""
    kind: str
    """The kind of its items in the undo log, such as "form"; empty for a call that enters none."""
    dialog: str
    text: str
    """Empty if the value was taken out."""
    write: LoggedWrite
    """Its number is 0 if the undo log does not have it any more."""


@dataclass(frozen=True, kw_only=True)
class Ending:
    """The end of a dialog or of a thread for one of its users, or an undo of what was written before an end."""

    thread: str
    user: str
    lang: str
    is_shared: bool
    """Whether others read along; then the facts hold only what was said aloud."""
    message: str
    turn: int
    is_over: bool
    """Whether it is an end; an undo has no facts."""
    facts: Sequence[Fact]
    undone: Collection[int]
    """The numbers of the writes that were taken back within the last day."""


class LongTermMemory(ABC):
    """Keeps what conversations have found out, each end once."""

    @abstractmethod
    async def keep(self, ending: Ending) -> None:
        """Keep what was found out. It is called before the end is stored, and after a crash again."""

    @abstractmethod
    async def entries(self, user: str) -> Sequence[Mapping[str, object]]:
        """Return what is kept of a user, without groups, as plain data."""

    @abstractmethod
    async def clear(self, user: str) -> None:
        """Delete all that is kept of a user, groups left aside; the ends that were kept do not bring it back."""

    @abstractmethod
    async def erase(self, user: str, *, thread: str | None = None, dialog: str = "", field: str = "") -> None:
        """Delete all that is kept of a user, or only that of a thread, of a dialog's form or of a field of it."""
