"""Chats of operators beside those of users, as a plug-in brings them to a door."""

from abc import ABC, abstractmethod
from typing import Any


class OperatorChats(ABC):
    """Whoever posts to a chat of operators; a service that is found by this type."""

    @abstractmethod
    def open(self, door: Any, lang: str) -> Any:
        """Return what posts and answers there during a block, for the Telegram door, in the operators' language.

        It has `claims(update)`, the thread that an update of the chat is about, and `begin(thread, update, stored)`.
        """
