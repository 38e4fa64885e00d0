"""Jobs for each chat or topic: in order within it, at the same time for different ones."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable

from app.doors.telegram.delivery.sender import Gone
from app.tasks import cancel

LOG = logging.getLogger(__name__)

Job = Callable[[], Awaitable[None]]


class Chats:
    """A queue of jobs for each chat, and a task for each queue that is not empty."""

    def __init__(self) -> None:
        self._waiting: dict[int | str, deque[Job]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_open = True

    def add(self, chat: int | str, job: Job) -> None:
        """Do a job when those before it of the same chat are done."""
        if chat in self._waiting:
            self._waiting[chat].append(job)
        else:
            self._waiting[chat] = deque([job])
            self.start(self._work(chat))

    def start(self, work: Awaitable[None]) -> None:
        """Do something at once, beside the queues."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    @property
    def busy(self) -> int:
        """How many chats something is being done for."""
        return len(self._waiting)

    def is_busy(self, chat: int | str) -> bool:
        """Tell whether something is being done for a chat."""
        return chat in self._waiting

    async def close(self, patience: float) -> None:
        """Begin no more jobs; give those that run so many seconds, then cancel them."""
        self._is_open = False
        try:
            if self._tasks:
                await asyncio.wait(self._tasks, timeout=patience)
        finally:
            await cancel(self._tasks)

    async def _work(self, chat: int | str) -> None:
        waiting = self._waiting[chat]
        try:
            while waiting and self._is_open:
                await self._do(chat, waiting.popleft(), waiting)
        finally:
            del self._waiting[chat]

    async def _do(self, chat: int | str, job: Job, waiting: deque[Job]) -> None:
        try:
            await job()
        except Gone:
            LOG.warning("chat %s cannot be written to any more; what it still waits for is dropped", chat)
            waiting.clear()
        except Exception:
            LOG.exception("chat %s: something went wrong", chat)
