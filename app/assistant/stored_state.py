"""What a thread's checkpoint holds, held against what it should: a file can be damaged, and a row can be forged."""

import logging
from collections.abc import Awaitable, Callable

from langchain_core.messages import BaseMessage
from langgraph.types import StateSnapshot

from agents.errors import BrokenState
from agents.memory.checkpointer import Saver

Read = Callable[[str], Awaitable[StateSnapshot]]
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
"""What the values of the state must be for a turn to begin."""


async def sound_state(thread: str, read: Read) -> StateSnapshot:
    """Return the latest state of a thread as `read` finds it.

    Raises:
        BrokenState: what is stored cannot be read, or is no state.
    """
    snapshot = await read(thread)
    if not _is_sound(snapshot.values):
        raise BrokenState(thread)
    return snapshot


async def mended_state(thread: str, read: Read, saver: Saver) -> tuple[StateSnapshot, bool]:
    """Return the latest state that can be read, and whether later ones had to go.

    What they held is rebuilt from the transcript, like any state that is older than its transcript.
    """
    is_mended = False
    while True:
        try:
            return await sound_state(thread, read), is_mended
        except BrokenState as broken:
            LOG.error("%s; it is rebuilt from the transcript", broken)
            await saver.drop_last_turn(thread)
            is_mended = True


def _is_sound(values: dict[str, object]) -> bool:
    if not all(isinstance(values.get(name, kind()), kind) for name, kind in KINDS.items()):
        return False
    talks = values.get("talks")
    return not isinstance(talks, dict) or all(
        isinstance(talk, dict) and all(isinstance(message, BaseMessage) for message in talk.get("messages", []))
        for talk in talks.values()
    )
