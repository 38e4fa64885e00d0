"""Reminders: set them, and read the notices that rang."""

import time
from pathlib import Path

from agents.memory import Memory
from agents.memory.sqlite_file import SqliteBackend


async def remind(path: Path, text: str, *, ago: float, user: str = "me", thread: str = "me") -> None:
    """Add a notice that was due some seconds ago."""
    at_ms = round((time.time() - ago) * 1000)
    async with SqliteBackend(f"sqlite:///{path}").open() as memory:
        await memory.notices.add(user, thread, f"{text}-{ago}", text=text, lang="en", at_ms=at_ms)


async def all_rang(memory: Memory) -> bool:
    """Tell whether every notice has rung and its ringing is noted."""
    return await memory.notices.due(2**53, None, "*") == []


async def told(path: Path, thread: str = "me") -> list[str]:
    """Return the lines of a transcript."""
    async with SqliteBackend(f"sqlite:///{path}").open() as memory:
        return [line.text for line in await memory.transcript.lines(thread)]
