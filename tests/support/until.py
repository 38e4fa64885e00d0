"""Waiting for a fact: the one place in which a test waits in real time."""

import asyncio
import inspect
from collections.abc import Callable

PAUSE = 0.01
"""Seconds between two looks."""
MOST_LOOKS = 12_000
"""Two minutes: a wait that succeeds costs nothing, and on a busy machine everything comes late."""


async def until(is_so: Callable[[], object]) -> None:
    """Wait until a function, or a coroutine function, returns something true. Raises TimeoutError at last.

    Looks are counted, so a test that moves the clock of its loop does not shorten the wait.
    """
    for _ in range(MOST_LOOKS):
        answer = is_so()
        if await answer if inspect.isawaitable(answer) else answer:
            return
        await asyncio.sleep(PAUSE)
    raise TimeoutError("what the test waits for did not happen")
