"""Waiting for a fact: the one place in which a test waits in real time."""

import asyncio
import inspect
import random
from collections.abc import Callable
from typing import Protocol

import httpx

PAUSE = 0.01
"""Seconds between two looks."""
MOST_LOOKS = 12_000
"""Two minutes: a wait that succeeds costs nothing, and on a busy machine everything comes late."""


async def until(is_so: Callable[[], object], pause: float = PAUSE) -> None:
    """Wait until a function, or a coroutine function, returns a true value. Raises TimeoutError at last.

    Looks are counted, so a test that moves the clock of its loop does not shorten the wait.
    """
    for _ in range(MOST_LOOKS):
        answer = is_so()
        if await answer if inspect.isawaitable(answer) else answer:
            return
        await asyncio.sleep(pause)
    raise TimeoutError("what the test waits for did not happen")


class Process(Protocol):
    """A process that may have ended."""

    @property
    def returncode(self) -> int | None:
        """The exit code; None while it runs."""


async def until_answered(url: str, process: Process, is_well: bool = False) -> None:
    """Wait until a process answers at an address; with `is_well`, with success. The process must not end before."""

    async def is_answered() -> bool:
        assert process.returncode is None, f"it has ended with {process.returncode}"
        try:
            answer = await client.get(url)
        except httpx.TransportError:
            return False
        return answer.is_success or not is_well

    async with httpx.AsyncClient(trust_env=False, timeout=300) as client:
        await until(is_answered)


async def moment(most: float, least: float = 0.0, chance: random.Random | None = None) -> None:
    """Let a part of a second pass in a slow test, so that a kill may come at any moment; nothing may depend on it."""
    await asyncio.sleep((chance or random).uniform(least, most))
