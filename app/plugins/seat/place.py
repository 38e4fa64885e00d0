"""A person in the assistant's place: who holds a thread, who is called, and what the user is told of it."""

from typing import Literal, NamedTuple

Caller = Literal["user", "assistant", "observer"]


class Seat(NamedTuple):
    """A thread that a person holds, or to which one is called. Times are Unix milliseconds."""

    thread: str
    user: str
    """Whom the person talks with: who called, else who wrote last."""
    lang: str
    """The language of what the user is told."""
    caller: Caller | None
    """Who called for a person; None if one came unasked."""
    reason: str
    """Why, in the words of whoever called."""
    since_ms: int
    """When the call was made, or the thread was taken over without one."""
    holder: str
    """The name of the person who holds the thread; empty while the call waits."""
    waits_ms: int | None
    """When the user wrote what the person has not answered yet; None if nothing waits."""
    holder_id: str
    """By what the door of the holder knows them: two people may have the same name."""


class Operator(NamedTuple):
    """A person who takes threads over: the name that users see, and by what the door knows the person."""

    name: str
    id: str
