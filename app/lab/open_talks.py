"""Talks of the lab that are open in this process, each on a stage of its own."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, Protocol, TypeVar

MOST_OPEN = 6
"""Talks that are open at a time; the one that was not used for the longest time is closed."""


class Closing(Protocol):
    """A talk that can be closed."""

    async def close(self) -> None:
        """Close its stage."""


Talk = TypeVar("Talk", bound=Closing)


class OpenTalks(Generic[Talk]):
    """The open talks of a kind, by their keys."""

    def __init__(self) -> None:
        self._talks: dict[Hashable, Talk] = {}
        self._opening = asyncio.Lock()

    async def of(
        self,
        key: Hashable,
        open_talk: Callable[[], Awaitable[Talk]],
        is_current: Callable[[Talk], bool] = lambda _: True,
    ) -> Talk:
        """Return the talk of a key; one that is not open, or not current any more, is opened anew."""
        async with self._opening:
            talk = self._talks.pop(key, None)
            if talk and not is_current(talk):
                await talk.close()
                talk = None
            self._talks[key] = talk = talk or await open_talk()
            while len(self._talks) > MOST_OPEN:
                await self._talks.pop(next(iter(self._talks))).close()
            return talk

    async def close(self, key: Hashable = None) -> None:
        """Close the talk of a key, or all."""
        for each in [each for each in self._talks if key in (None, each)]:
            await self._talks.pop(each).close()
