"""A tiny conversation that keeps words, and looks at its database."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt
from typing_extensions import TypedDict

from agents.memory.checkpointer import KEPT_TURNS, TABLES, Keep, Saver
from agents.memory.connection import connect, migrate
from agents.memory.inbox import InboxEntry, TranscriptLine

THREAD: RunnableConfig = {"configurable": {"thread_id": "t"}}


@asynccontextmanager
async def open_saver(path: str, keep: Keep = KEPT_TURNS) -> AsyncIterator[Saver]:
    """Open a saver on a database file of its own tables."""
    async with connect(path, "NORMAL") as connection:
        await connection.read(partial(migrate, TABLES))
        yield Saver(connection, keep=keep)


def append(words: list[str], added: list[str]) -> list[str]:
    """Keep the last 40 words."""
    return [*words, *added][-40:]


class Words(TypedDict, total=False):
    """The state of a tiny conversation."""

    words: Annotated[list[str], append]


def graph(saver: Saver) -> Any:
    """Build a graph of one node that asks the user when it hears "ask"."""

    def answer(state: Words) -> Words:
        if state["words"][-1] == "ask":
            return {"words": [interrupt("yes?")]}
        return {"words": [state["words"][-1].upper()]}

    built = StateGraph(Words)
    built.add_node("answer", answer)
    built.add_edge(START, "answer")
    built.add_edge("answer", END)
    return built.compile(checkpointer=saver)


async def words(saver: Saver, config: RunnableConfig = THREAD) -> list[str]:
    """Return the words of the thread's latest checkpoint."""
    state = await graph(saver).aget_state(config)
    return list(state.values.get("words", []))


async def say(saver: Saver, word: str, config: RunnableConfig = THREAD) -> None:
    """Play a turn."""
    await graph(saver).ainvoke({"words": [word]}, config, durability="sync")


def count(path: Path, table: str) -> int:
    """Count the rows of a table, through a connection of its own."""
    connection = sqlite3.connect(path)
    (rows,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
    connection.close()
    return int(rows)


def letter(message_id: str = "m1", text: str | None = "hello", thread: str = "t", user: str = "u") -> InboxEntry:
    """Make a message."""
    return InboxEntry(thread, message_id, user, text, "message")


def reply(text: str, **metadata: Any) -> TranscriptLine:
    """Make a line of the assistant."""
    return TranscriptLine("assistant", "supervisor", text, 0, "", 5, {"source": "llm", **metadata})
