"""A person in the assistant's place: the thread, its holder or caller, and the operator."""

from typing import Literal, NamedTuple

Caller = Literal["user", "assistant", "observer"]


class Seat(NamedTuple):
    """A thread that a person holds, or to which one is called. Times are Unix milliseconds."""

    thread: str
    user: str
    """The user of the person's conversation: the one who called, else the last writer."""
    lang: str
    """The language of sentences to the user."""
    caller: Caller | None
    """The caller of a person; None if one came unasked."""
    reason: str
    """The reason of the call, in the caller's words."""
    since_ms: int
    """The time of the call, or of a take-over without one."""
    holder: str = ""
    """The name of the person who holds the thread; empty while the call waits."""
    waits_ms: int | None = None
    """The time of the user's first unanswered message; None if none waits."""
    holder_id: str = ""
    """The holder's id at their door: two people may have the same name."""


class Operator(NamedTuple):
    """A person who takes threads over: the name for users, and the id at the door."""

    name: str
    id: str
