"""Errors, by the people who must act.

DialogSupervisorError
├── ConfigError          the operator: one line on stderr, exit 2
│   └── UnusableDatabase the same, with exit code 74
├── DatabaseError        the operator: the database cannot be read or written; the message stays open
├── ContractError        the developer: a dialog, observer, tool or prompt breaks a rule; raised at start
├── UsageError           the caller: this request cannot be carried out as it was put
├── Undeleted            the operator: rows that a plug-in keeps could not be deleted; the log has the reason
├── BrokenState          the operator: a thread's stored state cannot be read; it is rebuilt from its transcript
├── BrokenReply          nobody: a reply was cut or garbled; it is asked for again
│   └── GarbledReply     the same, once: it is nothing that a user could read
├── UselessReply         nobody: a model refuses to answer or never ends; it is not asked again
└── ModelUnavailable     nobody now: the user reads an apology, the thread stays usable
"""

from dataclasses import dataclass
from typing import Literal

Trouble = Literal["busy", "cut_length", "garbled", "key_refused", "refused", "spent", "too_long", "unavailable"]
"""The trouble of a model; "refused": it will not answer; "too_long": it takes less text than it was given;
"cut_length": its limit came before any words; "garbled": no words for a user; "spent": the day's limit is reached."""


@dataclass(frozen=True)
class Overflow:
    """The overflow of a model's context window by a request, in tokens; None where its server does not say."""

    window: int | None = None
    prompt: int | None = None


class DialogSupervisorError(Exception):
    """The root of the errors this application raises itself."""


class ConfigError(DialogSupervisorError, ValueError):
    """A setting is missing or wrong; the message names it and the remedy."""


class UnusableDatabase(ConfigError):
    """The file of `DATABASE_URL` cannot be opened, or is damaged; the message names the reason and the remedy."""


class DatabaseError(DialogSupervisorError):
    """The database cannot be used or refuses a statement; the cause is the error of its driver."""


class ContractError(DialogSupervisorError, TypeError):
    """A dialog, observer, tool or form breaks a rule; the message names the file and the rule."""


class UsageError(DialogSupervisorError, ValueError):
    """The request contradicts the stored data; the message says how."""

    def told(self, lang: str) -> str:
        """Return the fault in a language, if the class has words for it; here the message."""
        return str(self)


class Undeleted(DialogSupervisorError):
    """A plug-in has failed to delete its rows; all else is deleted."""

    def __init__(self) -> None:
        super().__init__("Not everything could be deleted; the log has the reason. Try again when it is mended.")


class BrokenState(DialogSupervisorError):
    """A thread's stored state cannot be read, or is not a state."""

    def __init__(self, thread: str) -> None:
        super().__init__(f"thread {thread!r}: its stored state cannot be read")


class BrokenReply(DialogSupervisorError):
    """A model's reply ended without a reason or carried arguments that are not JSON."""


class GarbledReply(BrokenReply):
    """A model's reply is made of marks, of texts that only look like calls, or of its instructions."""


class UselessReply(DialogSupervisorError):
    """A model refuses to answer or never ends; it would do so again, unless it `wants_room` to think."""

    def __init__(self, trouble: Trouble, cause: str, *, wants_room: bool = False) -> None:
        super().__init__(cause)
        self.trouble, self.wants_room = trouble, wants_room


class ModelUnavailable(DialogSupervisorError):
    """No model of the role could answer, fallback included.

    `cause` names the model, its address and the event, for the operator; empty if it is not known. `overflow` is set
    where the trouble is "too_long": the room of the first model that said so. `until` is set where it is "spent": the
    time at which it goes on, as the user reads it.
    """

    def __init__(
        self, trouble: Trouble, model: str, cause: str = "", overflow: Overflow | None = None, until: str = ""
    ) -> None:
        super().__init__(f"{model}: {trouble.replace('_', ' ')}{f' ({cause})' if cause else ''}")
        self.trouble, self.cause, self.overflow, self.until = trouble, cause, overflow, until
