"""The ends of a thread's earlier turns: the state there, and the way back."""

import uuid
from typing import cast

from langchain_core.runnables import RunnableConfig
from langgraph.types import Overwrite

from agents.errors import UsageError
from agents.events import Message
from agents.state import State
from app.assistant import Assistant
from app.assistant.branches import MARK
from app.assistant.run import config_of
from app.assistant.thread_reader import facts_of


async def state_after(assistant: Assistant, thread: str, turn: int) -> dict[str, object] | None:
    """Return the state at the end of a turn as plain data; None if it is not kept."""
    config = (await assistant.branches.kept_turns(thread)).get(turn)
    return facts_of(thread, cast(State, (await assistant.graph.aget_state(config)).values)) if config else None


async def go_back(assistant: Assistant, thread: str, turn: int, text: str) -> Message:
    """Go back to the end of a turn, say so with `text` in the transcript, and return that message.

    The effects of the turns since then stay: items, reminders, writes, and sent messages. Their lines stay in the
    transcript, and the thread can go back to them as well. No number stands for two turns.

    Raises:
        UsageError: the turn is not kept, the thread is there already, or a message was not answered yet.
    """
    async with assistant.memory.locks.hold(thread):
        if await assistant.memory.transcript.open_entries(thread):
            raise UsageError("A message of this thread is not answered yet; say something, and it is answered first.")
        snapshot = await assistant.graph.aget_state(config_of(thread))
        end = (await assistant.branches.kept_turns(thread)).get(turn)
        if end is None:
            raise UsageError(f"The end of turn {turn} is not kept.")
        if end == snapshot.config:
            raise UsageError(f"The thread is at the end of turn {turn} already.")
        now = cast(State, snapshot.values)
        present = {"turn": now["turn"], "heard": now["heard"], "lang": now["lang"]}
        over: dict[str, object] = {"listener": None, "asked": [], "votes": Overwrite([])}
        fork: RunnableConfig = {**end, "metadata": {MARK: turn}}
        await assistant.graph.aupdate_state(fork, {**over, **present}, as_node="settle")
        return await assistant.tell(thread, text, uuid.uuid4().hex)
