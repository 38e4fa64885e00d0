"""To-dos: numbers are given once, whoever writes beside."""

import asyncio
import os
import re
from pathlib import Path
from typing import Any

import pytest

from app.assistant import Turn
from app.testing.script import Call, Line, Script
from tests.support.scripted_assistant import ROLES, stage
from tests.support.warm_process import WarmProcess

ADDING = """
import asyncio, sys
from pathlib import Path
from tests.dialogs.planner.test_todos import add

asyncio.run(add(Path(sys.argv[1]), sys.argv[2], 10))
"""
WORDS = re.compile(r"^.+-\d+$", re.MULTILINE)
"""The user's words: a line of a message that has the application's data, too."""


class Adding(Script):
    """A planner that puts down what it is told, each time with a call of its own."""

    def next_line(self, role: str, messages: Any) -> Line:
        """Return the role's reply."""
        if role == "supervisor":
            return Call("plan_things", {"brief": "to-dos"})
        if role == "observer":
            return "stay"
        last = [message for message in messages if message.type != "system"][-1]
        if last.type != "human":
            return "Noted. What else?"
        return Call("add_todos", {"items": WORDS.findall(last.text)})


async def add(path: Path, name: str, count: int) -> list[dict[str, Any]]:
    """Put so many to-dos on ann's list, in a thread of this name; return the list."""
    async with stage(path, Adding().models(ROLES)) as assistant:
        for number in range(count):
            async for _ in assistant.play(Turn(thread=name, user="ann", text=f"{name}-{number}")):
                pass
        return [item.value for item in await assistant.memory.store.asearch(("users", "ann", "todos"), limit=1000)]


async def test_two_turns_at_once_give_no_number_twice(tmp_path: Path) -> None:
    """Threads of one user that write at the same time, over connections of their own, number as one would."""
    path = tmp_path / "todos.db"
    await asyncio.gather(*(add(path, name, 4) for name in ("one", "two", "three")))
    kept = await add(path, "one", 0)
    assert sorted(value["number"] for value in kept) == list(range(1, 13))


async def test_a_thread_may_be_called_anything(tmp_path: Path) -> None:
    """No name of a thread stands in the way of its own list."""
    assert len(await add(tmp_path / "todos.db", "todos ann", 1)) == 1


@pytest.mark.slow
async def test_processes_give_no_number_twice(tmp_path: Path) -> None:
    """Processes that write side by side number as one would."""
    path = tmp_path / "todos.db"
    started = (WarmProcess.start("-c", ADDING, str(path), name, environment=os.environ) for name in ("one", "two"))
    running = await asyncio.gather(*started)
    assert [await process.wait() for process in running] == [0, 0]
    kept = await add(path, "three", 1)
    assert sorted(value["number"] for value in kept) == list(range(1, 22))
