"""Going back to the end of an earlier turn, as LangGraph forks a thread; what was done outside of it stays done."""

import uuid
from typing import cast

from langchain_core.runnables import RunnableConfig
from langgraph.types import Overwrite

from agents.errors import UsageError
from agents.events import Message
from agents.state import State
from app.assistant.assistant import Assistant
from app.assistant.run import config_of

MARK = "back_to"
"""Among the metadata of a checkpoint: the turn that the thread went back to with it."""


async def kept_turns(assistant: Assistant, thread: str) -> dict[int, RunnableConfig]:
    """Return the turns whose end is still stored, the latest first, each with the config of its last checkpoint."""
    configs: dict[int, RunnableConfig] = {}
    root: RunnableConfig = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    async for checkpoint in assistant.memory.saver.alist(root):
        turn = checkpoint.checkpoint["channel_values"].get("turn")
        # An input is stored before its turn begins, under the number of the turn before.
        begins = checkpoint.metadata.get("source") == "input" or MARK in checkpoint.metadata
        if isinstance(turn, int) and not begins:
            configs.setdefault(turn, checkpoint.config)
    return configs


async def go_back(assistant: Assistant, thread: str, turn: int, text: str) -> Message:
    """Go back to the end of a turn, say so with `text` in the transcript, and return that message.

    What the turns since have done stays done: items, reminders, writes, and what was sent. Their lines stay in the
    transcript, and they can be gone back to as well. Turns are counted on, so that no number stands for two of them.

    Raises:
        UsageError: the turn is not kept, the thread is there already, or a message was not answered yet.
    """
    async with assistant.memory.locks.hold(thread):
        if await assistant.memory.transcript.open_entries(thread):
            raise UsageError("A message of this thread is not answered yet; say something, and it is answered first.")
        snapshot = await assistant.graph.aget_state(config_of(thread))
        end = (await kept_turns(assistant, thread)).get(turn)
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
