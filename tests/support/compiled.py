"""The graph for a test, compiled once for all tests that have the same speakers."""

import copy
from collections.abc import Mapping
from dataclasses import fields
from functools import cache, lru_cache

from agents.conversation.gate import Gate
from agents.graph import Graph, build_graph
from agents.memory import Memory
from agents.toolkit.speaker import Speaker, Speakers
from app.composition import dialogs_of, discover
from app.seat.observing import calling
from observers import Observer


class Cast:
    """Speakers and observers as the key of a cache: two are the same whose parts are the same objects."""

    def __init__(self, speakers: Speakers, observers: Mapping[str, Observer]) -> None:
        self.speakers, self.observers = speakers, observers
        self._parts = (
            _identity(speakers.help),
            *map(_shape, (*speakers, *speakers.absent.values())),
            *(len(speakers.dialogs), *speakers.dialogs, *speakers.absent),
            *map(_identity, observers.items()),
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cast) and self._parts == other._parts

    def __hash__(self) -> int:
        return hash(self._parts)


def _shape(speaker: Speaker) -> tuple[object, ...]:
    return type(speaker), *(_identity(getattr(speaker, each.name)) for each in fields(speaker))


def _identity(value: object) -> object:
    """Return what the same object has in common with no other one that lives; a sequence is the same by its members."""
    if isinstance(value, list | tuple):
        return tuple(map(_identity, value))
    return value if isinstance(value, str) else id(value)


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
