"""Many writers, and many turns."""

import asyncio
from pathlib import Path

import pytest
from langchain_core.runnables import RunnableConfig

from agents.memory import Memory
from agents.memory.sqlite_file import SqliteBackend
from agents.memory.store import namespace_of
from tests.support.tiny_graph import count, letter, reply, say


@pytest.mark.slow
async def test_fifty_writers_at_once(path: Path, memory: Memory) -> None:
    """Saver, store and transcript of two openings write side by side; nobody finds the file locked."""

    async def write(opened: Memory, number: int) -> None:
        config: RunnableConfig = {"configurable": {"thread_id": str(number)}}
        entry = letter(thread=str(number))
        await opened.transcript.accept(entry)
        await say(opened.saver, "one", config)
        await opened.store.aput(namespace_of(str(number)), "n", {"n": number})
        await opened.transcript.close(entry, "done", 1, [reply("hi")])

    async with SqliteBackend(f"sqlite:///{path}").open() as second:
        await asyncio.gather(*(write((memory, second)[number % 2], number) for number in range(50)))
    assert [count(path, table) for table in ("inbox", "transcript", "checkpoints", "store")] == [50, 100, 50, 50]


@pytest.mark.slow
async def test_five_hundred_turns_stay_small(path: Path, memory: Memory) -> None:
    """A thread of 500 turns of 400 + 400 characters takes less than 1.5 MB, the write-ahead log included."""
    for turn in range(500):
        entry = letter(f"{turn:032x}", f"{turn:04}" * 100)
        await memory.transcript.accept(entry)
        await say(memory.saver, f"{turn:04}" * 100)
        await memory.transcript.close(entry, "done", turn, [reply(f"{turn:04}" * 100)])
    files = [file for file in path.parent.iterdir() if not file.name.endswith("-shm")]
    assert sum(file.stat().st_size for file in files) < 1_500_000
