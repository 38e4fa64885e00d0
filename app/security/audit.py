"""The deeds of operators, for an audit log."""

import getpass
from abc import ABC, abstractmethod
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Literal

from agents.toolkit.services import Services

Action = Literal[
    "agent_deleted",
    "agent_shared",
    "agent_unshared",
    "back",
    "card_changed",
    "command",
    "forget",
    "forget_memory",
    "import",
    "prompt_changed",
    "said",
    "seat_left",
    "seat_said",
    "seat_taken",
    "spoke_as",
    "system_messages",
    "text_put_back",
]


class AuditLog(ABC):
    """Writes down the deeds of operators; a service that is found by this type."""

    @abstractmethod
    def deed(self, who: str, what: str, thread: str, about: str) -> AbstractAsyncContextManager[None]:
        """Write down the deed of the block, and then its outcome."""


def deed(
    services: Services, who: str, what: Action, thread: str = "", about: str = ""
) -> AbstractAsyncContextManager[None]:
    """Write down the deed of an operator in the block, if there is an audit log.

    `who` is the door, and there the name of the key, the login, or the id of the user. `about` is the other object of
    the deed, such as a user, a tool or a command.
    """
    log = services.find(AuditLog)
    return log.deed(who, what, thread, about) if log else nullcontext()


def login() -> str:
    """Return the name of the operator at the command line."""
    return f"cli:{getpass.getuser()}"
