"""The graph for a test, compiled once for all tests that have the same speakers."""

import copy
from collections.abc import Mapping
from functools import cache, lru_cache

from agents.conversation.gate import Gate
from agents.graph import Graph, build_graph
from agents.memory import Memory
from agents.toolkit.speaker import Speakers
from app.composition import dialogs_of, discover
from app.seat.observing import calling
from observers import Observer


class Cast:
    """Speakers and observers, told apart by identity, as the key of a cache."""

    def __init__(self, speakers: Speakers, observers: Mapping[str, Observer]) -> None:
        self.speakers, self.observers = speakers, observers
        self._parts = (
            speakers.supervisor,
            *speakers.dialogs.values(),
            *observers.values(),
        )

    def __eq__(self, other: object) -> bool:
        pairs = zip(self._parts, other._parts, strict=False) if isinstance(other, Cast) else []
        return isinstance(other, Cast) and len(self._parts) == len(other._parts) and all(a is b for a, b in pairs)

    def __hash__(self) -> int:
        return hash(tuple(map(id, self._parts)))


discovered = cache(discover)
"""The dialogs and observers of the application, found once."""
specialists = cache(dialogs_of)
"""The dialogs with what they declare, found once."""


def compiled(
    memory: Memory, speakers: Speakers, observers: Mapping[str, Observer], gate: Gate | None, direct_switch: bool = True
) -> Graph:
    """Return the graph of the speakers on a memory."""
    graph = copy.copy(_compiled(Cast(speakers, observers), gate, direct_switch))
    graph.checkpointer, graph.store = memory.saver, memory.store
    return graph


@lru_cache(maxsize=8)
def _compiled(staff: Cast, gate: Gate | None, direct_switch: bool) -> Graph:
    return build_graph(
        staff.speakers, calling(staff.observers), saver=None, store=None, gate=gate, direct_switch=direct_switch
    )
