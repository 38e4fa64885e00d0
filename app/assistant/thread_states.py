"""The latest state of a thread: as it is stored, checked, or mended; and the progress of a message in it."""

import logging
from enum import Enum

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import StateSnapshot

from agents.errors import BrokenState
from agents.graph import Graph
from agents.memory.checkpointer import READ, Saver
from agents.memory.inbox import InboxEntry
from agents.state import State
from app.assistant.run import config_of

LOG = logging.getLogger(__name__)
KINDS: dict[str, type] = {
    "heard": dict,
    "lang": str,
    "turn": int,
    "paused": list,
    "wishes": list,
    "pending": list,
    "said": list,
    "screen": list,
    "talks": dict,
}
"""The types of the state's values that a turn needs to begin."""


class Progress(Enum):
    """The progress of a message in the graph when this process takes it up."""

    NEW = "its thread has not heard it"
    HEARD = "it is in the state, and `route` has to look at it"
    ROUTED = "`route` has looked at it, and nodes are left to run"
    ENDED = "the graph came to its end, and only the outcome is not stored"


RESUMED = (Progress.ROUTED, Progress.ENDED)
"""The progress with which messages from before a crash are shown again."""


class ThreadStates:
    """Reads the latest states of threads."""

    def __init__(self, graph: Graph, saver: Saver) -> None:
        self._graph, self._saver = graph, saver

    async def latest(self, thread: str) -> StateSnapshot:
        """Return the state of a thread as it is stored; LangGraph plans the next step only if a node is due.

        A node is due when its own channel has a value. A thread at rest has only the channels of the state.
        """
        config = config_of(thread)
        stored = await self._saver.aget_tuple(config)
        place: RunnableConfig = {"configurable": {**config["configurable"], READ: {(thread, ""): stored}}}
        if stored is None:
            return StateSnapshot({}, (), place, None, None, None, (), ())
        values = stored.checkpoint["channel_values"]
        if stored.pending_writes or values.keys() - State.__annotations__:
            return await self._graph.aget_state(config)
        return StateSnapshot(values, (), place, stored.metadata, None, stored.parent_config, (), ())

    async def sound(self, thread: str) -> StateSnapshot:
        """Return the state of a thread. Raises BrokenState: its values cannot be read, or have wrong types."""
        snapshot = await self.latest(thread)
        if not _is_sound(snapshot.values):
            raise BrokenState(thread)
        return snapshot

    async def mended(self, thread: str) -> tuple[StateSnapshot, bool]:
        """Return the latest readable state, and whether later ones had to be dropped.

        The dropped turns are rebuilt from the transcript, like any state that is older than its transcript.
        """
        is_mended = False
        while True:
            try:
                return await self.sound(thread), is_mended
            except BrokenState as broken:
                LOG.error("%s; it is rebuilt from the transcript", broken)
                await self._saver.drop_last_turn(thread)
                is_mended = True


def progress_of(entry: InboxEntry, snapshot: StateSnapshot) -> Progress:
    """Return the progress of a message in its thread."""
    if snapshot.values.get("heard", {}).get("id") != entry.message_id:
        return Progress.NEW
    if not snapshot.tasks:
        return Progress.ENDED
    # The snapshot already has the writes of the step's tasks: a `route` with a result is over.
    ahead = {task.name for task in snapshot.tasks if task.name != "route" or task.result is None}
    return Progress.HEARD if {"route", "__start__"} & ahead else Progress.ROUTED


def _is_sound(values: dict[str, object]) -> bool:
    if not all(isinstance(values.get(name, kind()), kind) for name, kind in KINDS.items()):
        return False
    talks = values.get("talks")
    return not isinstance(talks, dict) or all(
        isinstance(talk, dict) and all(isinstance(message, BaseMessage) for message in talk.get("messages", []))
        for talk in talks.values()
    )
