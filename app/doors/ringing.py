"""Doors that let another process tell their users what is due, such as reminders while no conversation is open."""

from abc import ABC, abstractmethod
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.assistant import Assistant
    from app.assistant.clocks import Deliver


@dataclass(frozen=True)
class OpenRinging:
    """A door whose users can be told something."""

    threads: str
    """The threads of its users, as a GLOB pattern."""
    deliver: "Deliver"
    ways: str
    """What an operator is told of it."""
    deliver_others: "Deliver | None" = None
    """Delivers what users of other doors are to be told, if the operator wants to have that here."""


class RingingDoor(ABC):
    """A door that other processes may ring; a service that is found by this type."""

    title: str

    @abstractmethod
    def owns(self, thread: str) -> bool:
        """Tell whether a thread is of this door, whether or not it can ring."""

    @abstractmethod
    def can_ring(self, lang: str) -> bool:
        """Tell whether it is set up. Raises ConfigError, in a language: its settings do not go together."""

    @abstractmethod
    def open(self, assistant: "Assistant", lang: str) -> AbstractAsyncContextManager[OpenRinging]:
        """Reach the users during the block; `lang` is the operator's language. Raises ConfigError: it cannot."""
