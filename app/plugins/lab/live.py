"""The lab's work in this process: jobs that take minutes, and talks on stages of their own."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Hashable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from app.process.tasks import cancel

MOST_KEPT = 50
"""The number of finished works that are kept."""
Tell = Callable[[int, int], None]
Outcome = TypeVar("Outcome")
MOST_OPEN = 6
"""The most talks that are open at a time; the least recently used one is closed."""
Talk = TypeVar("Talk")


@dataclass
class Work(Generic[Outcome]):
    """One piece of work."""

    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    done: int = 0
    steps: int = 0
    """The number of all steps; 0: not known yet."""
    task: asyncio.Task[Outcome] = field(init=False)

    def tell(self, done: int, steps: int) -> None:
        """Take the progress of the work."""
        self.done, self.steps = done, steps


class Works(dict[str, Work[Outcome]]):
    """The work of this process, by its ids."""

    def begin(self, do: Callable[[Tell], Coroutine[object, object, Outcome]]) -> Work[Outcome]:
        """Begin some work; it tells its progress and returns its outcome."""
        work = Work[Outcome]()
        work.task = asyncio.create_task(do(work.tell))
        self[work.id] = work
        for old in [id for id, work in self.items() if work.task.done()][:-MOST_KEPT]:
            del self[old]
        return work

    async def close(self) -> None:
        """Cancel the unfinished work."""
        await cancel(work.task for work in self.values())


class OpenTalks(Generic[Talk]):
    """The open talks of a kind, by their keys; each with its version, and the stack that closes it."""

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
        for open_key in [open_key for open_key in self._talks if key in (None, open_key)]:
            await self._talks.pop(open_key)[1].aclose()
