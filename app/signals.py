"""Signals of the operating system."""

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager


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
