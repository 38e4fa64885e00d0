"""An event loop whose time jumps to the next timer, so that minutes pass in a moment; nothing in it may use threads."""

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
    """Run something to its end in simulated time and return its result."""
    loop = _Loop(_Jumping())
    try:
        return loop.run_until_complete(work)
    finally:
        loop.close()


def now() -> float:
    """Return the simulated time, in seconds."""
    return asyncio.get_running_loop().time()
