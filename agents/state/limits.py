"""How much one user, one message and one reply may ask for. Each limit is a setting; 0 turns an hour is no limit."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a turn, or a user, may use up."""

    message_length: int = 16_000
    """Characters of a user's message."""
    turns_per_hour: int = 0
    """Turns that a user may begin within an hour; those at the operator's own terminal are not counted."""
    calls_per_reply: int = 20
    """Tool calls in one reply of a model."""
    same_calls: int = 3
    """How often a call that may answer otherwise the next time is run with the same arguments in a turn."""
    field_length: int = 1_000
    """Characters of a field of a form, all entries of a list together."""
    notes_per_day: int = 20
    """Notes that a user may leave for a person within a day."""
