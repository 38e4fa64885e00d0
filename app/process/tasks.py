"""Tasks beside the running one, for a block: cancelled and waited for at its end; and signals that cancel a task."""

import asyncio
import signal
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Self


async def cancel(tasks: Iterable["asyncio.Task[object]"]) -> None:
    """Cancel tasks and wait until they are over; what they raised is dropped."""
    tasks = list(tasks)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class Beside(ABC):
    """Does its `run` beside the block that opens it."""

    @abstractmethod
    async def run(self) -> None:
        """Work until cancelled."""

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self.run())
        return self

    async def __aexit__(self, *_: object) -> None:
        await cancel([self._task])


@contextmanager
def on_signal(number: signal.Signals, handler: Callable[[], None]) -> Iterator[None]:
    """Call the handler at a signal during the block, and put back what was set before."""
    loop = asyncio.get_running_loop()
    before = signal.getsignal(number)
    loop.add_signal_handler(number, handler)
    try:
        yield
    finally:
        loop.remove_signal_handler(number)
        signal.signal(number, before)


@contextmanager
def cancelled_by(*numbers: signal.Signals) -> Iterator[list[bool]]:
    """Cancel the running task at each of these signals during the block; the list has an entry for each signal."""
    task = asyncio.current_task()
    assert task is not None
    signalled: list[bool] = []

    def cancel() -> None:
        signalled.append(True)
        task.cancel()

    with ExitStack() as stack:
        for number in numbers:
            stack.enter_context(on_signal(number, cancel))
        yield signalled
