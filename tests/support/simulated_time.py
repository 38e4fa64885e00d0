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
    """Run something to its end in simulated time, in which minutes pass in a moment; nothing in it may use threads."""
    loop = _Loop(_Jumping())
    try:
        return loop.run_until_complete(work)
    finally:
        loop.close()


def now() -> float:
    """Return the simulated time, in seconds."""
    return asyncio.get_running_loop().time()


async def rounds(count: int) -> None:
    """Let everything else that is ready in the running loop take so many steps."""
    for _ in range(count):
        await asyncio.sleep(0)


def advance(seconds: float) -> None:
    """Let the clock of the running loop jump forward: timers that are due by then go off, and nobody has waited.

    Call it where what has to hang has been reached. Threads and other processes do not notice.
    """
    loop = asyncio.get_running_loop()
    before = loop.time
    setattr(loop, "time", lambda: before() + seconds)  # noqa: B010  # mypy forbids to replace a method
