"""Tasks beside the running one, which the end cancels and awaits; waiting with a limit; signals that cancel."""

import asyncio
import signal
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Self, TypeVar

Result = TypeVar("Result")


def loop_time() -> float:
    """Return the time of the event loop, in seconds."""
    return asyncio.get_running_loop().time()


async def wait_for_event(event: asyncio.Event, seconds: float | None) -> bool:
    """Wait until an event is set, for so many seconds at most (None: for ever); return whether it is."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()


async def cancel(tasks: Iterable["asyncio.Task[object]"]) -> None:
    """Cancel tasks and wait until they are over; their exceptions are dropped."""
    tasks = list(tasks)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class TaskSet:
    """Tasks that are begun one by one; each is kept until it is over, which the event loop does not do."""

    def __init__(self) -> None:
        self._running = set[asyncio.Task[object]]()

    def start(self, work: Coroutine[object, object, Result]) -> asyncio.Task[Result]:
        """Begin a task."""
        task = asyncio.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    async def close(self, patience: float | None = None) -> None:
        """Give the running tasks so many seconds to end (None: no limit), then cancel them."""
        try:
            if self._running:
                await asyncio.wait(self._running, timeout=patience)
        finally:
            await cancel(self._running)


class BackgroundTask(ABC):
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
    """Call the handler at a signal during the block, and restore the former handler."""
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
    """Cancel the running task at each of these signals; the block then ends without an exception.

    The list has an entry for each signal.
    """
    task = asyncio.current_task()
    assert task is not None
    signalled: list[bool] = []

    def cancel() -> None:
        signalled.append(True)
        task.cancel()

    with ExitStack() as stack:
        for number in numbers:
            stack.enter_context(on_signal(number, cancel))
        try:
            yield signalled
        except asyncio.CancelledError:
            if not signalled:
                raise
