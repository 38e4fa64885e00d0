"""Limits for a user, a message, a turn and a reply; 0 turns an hour means no limit. The operator may set most."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of a turn or a user."""

    message_length: int = 16_000
    """Characters of a user's message."""
    turns_per_hour: int = 0
    """Turns that a user may begin within an hour; those at the operator's own terminal are not counted."""
    key_turns_per_hour: int = 0
    """Turns that all users of one key of the HTTP door together may begin within an hour."""
    calls_per_reply: int = 20
    """Tool calls in one reply of a model."""
    turn_calls: int = 18
    """Calls of models in a turn: those of speakers, observers and their helpers."""
    turn_tokens: int = 500_000
    """Tokens that models may read and write in a turn, as their providers count them; 0 means no limit."""
    same_calls: int = 3
    """How often a call with the same arguments runs in a turn, if its answer may differ the next time."""
    field_length: int = 1_000
    """Characters of a field of a form, all entries of a list together."""
    notes_per_day: int = 20
    """Notes that a user may leave for a person within a day."""

    @property
    def steps(self) -> int:
        """Supersteps of the graph: the calls of models, each with its tools, and the steps before and behind."""
        return 2 * self.turn_calls + 8
