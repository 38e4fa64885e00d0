"""Talks of the lab that are open in this process, each on a stage of its own."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Generic, TypeVar

MOST_OPEN = 6
"""Talks that are open at a time; the one that was not used for the longest time is closed."""
Talk = TypeVar("Talk")


class OpenTalks(Generic[Talk]):
    """The open talks of a kind, by their keys; each with its version, and what closes it."""

    def __init__(self) -> None:
        self._talks: dict[Hashable, tuple[int, AsyncExitStack, Talk]] = {}
        self._opening = asyncio.Lock()

    async def of(self, key: Hashable, open_talk: Callable[[AsyncExitStack], Awaitable[Talk]], version: int = 0) -> Talk:
        """Return the talk of a key; one that is not open, or of another version, is opened anew."""
        async with self._opening:
            if key in self._talks and self._talks[key][0] != version:
                await self.close(key)
            if key not in self._talks:
                async with AsyncExitStack() as stack:
                    talk = await open_talk(stack)
                    self._talks[key] = version, stack.pop_all(), talk
            # The talk that was used last stands last.
            self._talks[key] = self._talks.pop(key)
            if len(self._talks) > MOST_OPEN:
                await self.close(next(iter(self._talks)))
            return self._talks[key][2]

    @asynccontextmanager
    async def closed(self, key: Hashable) -> AsyncIterator[None]:
        """Close the talk of a key, and open no talk during the block."""
        async with self._opening:
            await self.close(key)
            yield

    async def close(self, key: Hashable = None) -> None:
        """Close the talk of a key, or all."""
        for each in [each for each in self._talks if key in (None, each)]:
            await self._talks.pop(each)[1].aclose()
