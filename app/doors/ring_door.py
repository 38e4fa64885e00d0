"""Doors through which another process rings due notices, such as reminders while no conversation is open."""

from abc import ABC, abstractmethod
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.assistant import Assistant
    from app.assistant.clocks import Deliver


@dataclass(frozen=True)
class OpenRinging:
    """A door whose users can be reached."""

    threads: str
    """The threads of its users, as a GLOB pattern."""
    deliver: "Deliver"
    ways: str
    """The sentence on the door for the operator."""
    deliver_others: "Deliver | None" = None
    """Delivers the notices of users of other doors, if the operator wants them here."""


class RingingDoor(ABC):
    """A door through which other processes may ring; a service that is found by this type."""

    title: str

    @abstractmethod
    def owns(self, thread: str) -> bool:
        """Tell whether a thread is of this door, whether or not it can ring."""

    @abstractmethod
    def can_ring(self, lang: str) -> bool:
        """Tell whether the door is set up. Raises ConfigError, in a language: its settings contradict each other."""

    @abstractmethod
    def open(self, assistant: "Assistant", lang: str) -> AbstractAsyncContextManager[OpenRinging]:
        """Open the door for the block; `lang` is the operator's language. Raises ConfigError: it cannot be opened."""
