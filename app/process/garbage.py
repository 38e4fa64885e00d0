"""Python's search for garbage, in a process that plays turns."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

THRESHOLDS = (5_000, 10, 10)
"""The least new objects for a search, and of searches for one among older objects.

Python's own 700 objects are fewer than one step of a graph makes: its searches took 2.6 of 28 ms of a turn's CPU where
150 threads spoke at once, and up to 110 ms in one piece; these take .9 ms, and 40 ms.
"""


@contextmanager
def seldom_searched() -> Iterator[None]:
    """Search for garbage less often during the block; a process that does so still less often goes on with that."""
    before = gc.get_threshold()
    gc.set_threshold(*map(max, THRESHOLDS, before))
    try:
        yield
    finally:
        gc.set_threshold(*before)
