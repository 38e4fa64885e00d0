"""A trace: the events of a turn as lines for a developer."""

from collections.abc import Iterable

from agents.events import (
    Error,
    Event,
    Forgetting,
    Handover,
    Images,
    Interrupt,
    Message,
    Observed,
    PrivateMessage,
    Sources,
    ToolEnd,
    TurnStart,
)
from agents.events.views import View


def trace(events: Iterable[Event]) -> str:
    """Return the lines of a trace: what was said, who took over and why, what tools did."""
    kinds = (TurnStart, Handover, ToolEnd, Interrupt, Error, View, Sources, Images, PrivateMessage, Forgetting)
    lines = [str(event) for event in events if isinstance(event, kinds) or _matters(event)]
    return "\n".join(lines)


def _matters(event: Event) -> bool:
    match event:
        case Observed(verdict=verdict):
            return verdict != "stay"
        case Message(shown=shown):
            return not shown
    return False
