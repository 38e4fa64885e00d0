"""Changes of a conversation: what they are, how they follow one another, how their events are sent."""

from collections.abc import Callable
from typing import Any, cast

from agents.events import Event
from agents.state import State, merge_talks

Update = dict[str, Any]
Change = tuple[Update, list[Event]]
"""What a node changes in the state, and the events that tell of it."""
Move = Callable[[State], Change]
"""One step of a change: a function from the present state."""


def sequence(state: State, *moves: Move) -> Change:
    """Make several changes one after another, each on the state the one before leaves."""
    whole: Update = {}
    events: list[Event] = []
    for move in moves:
        update, happened = move(state)
        state = cast(State, {**state, **update, "talks": merge_talks(state.get("talks", {}), update.get("talks", {}))})
        talks = {**whole.get("talks", {})}
        for name, talk in update.get("talks", {}).items():
            added = [*talks.get(name, {}).get("add", []), *talk.get("add", [])]
            talks[name] = {**talks.get(name, {}), **talk, **({"add": added} if added else {})}
        whole = {**whole, **update, "talks": talks, "said": [*whole.get("said", []), *update.get("said", [])]}
        events += happened
    return whole, events
