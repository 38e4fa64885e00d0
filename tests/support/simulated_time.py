"""The time of event loops: one that jumps to its next timer by itself, and one that a test moves forward."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Jumping(selectors.DefaultSelector):
    """A selector that does not wait: it adds the waiting time to `now`."""

    now = 1_000.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        events = super().select(0)
        if not events:
            if timeout is None:
                raise RuntimeError("everything waits for something that never comes")
            self.now += max(0.0, timeout)
        return events


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self, selector: _Jumping) -> None:
        super().__init__(selector)
        self._jumping = selector

    def time(self) -> float:
        return self._jumping.now


def simulated(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end in simulated time: minutes pass in a moment. It may not use threads."""
    loop = _Loop(_Jumping())
    try:
        return loop.run_until_complete(work)
    finally:
        loop.close()


def now() -> float:
    """Return the simulated time, in seconds."""
    return asyncio.get_running_loop().time()


async def rounds(count: int) -> None:
    """Let all other ready tasks of the running loop take so many steps."""
    for _ in range(count):
        await asyncio.sleep(0)


def advance(seconds: float) -> None:
    """Let the clock of the running loop jump forward: the due timers go off without a real wait.

    Call it after the code under test has begun its wait. Threads and other processes do not notice the jump.
    """
    loop = asyncio.get_running_loop()
    before = loop.time
    setattr(loop, "time", lambda: before() + seconds)  # noqa: B010  # mypy forbids to replace a method
