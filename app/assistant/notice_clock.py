"""The clock: it rings each notice once, when it is due."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial

from agents.memory import Memory
from agents.memory.notices import Due, NoticeSource
from app.tasks import cancel, running

LOG = logging.getLogger(__name__)
LONGEST_SLEEP_MS = 5_000
"""How long the clock sleeps at most: other processes add notices, machines sleep, and clocks are set."""
GRACE_MS = 60_000
"""How late a notice may ring and still be on time."""
RETRY_SECONDS = 30.0
"""Seconds until a notice that could not be delivered is tried again."""
AWAY_SECONDS = 3600.0
"""Seconds until a user who could not be reached is tried again, unless they write before."""


class Unreachable(Exception):
    """Raised by `deliver` when the user cannot be reached: the notice stays due, and is told as missed later."""


@dataclass(frozen=True)
class Ring:
    """A notice that is due, as it is delivered."""

    id: str
    """The same whenever the same thing is told, so that a repeated delivery is recognised."""
    thread: str
    user: str
    text: str
    """What to tell the user; says so if it comes too late."""


Deliver = Callable[[Ring], Awaitable[None]]
"""Delivers a notice while its thread is held; may be called with the same one again after a crash."""


class Clock:
    """Ring the notices that are due: those of one `user` or of all, in the threads of a GLOB pattern.

    Threads of the pattern `without` are left to others. A user who could not be reached is tried again after `away`
    seconds. Several clocks may ring the same database: each notice rings once, since its thread is held meanwhile.

    A notice rings when its thread is free, so that a turn that deletes or changes it is over by then.
    It counts as rung when `deliver` has returned: after a crash in between the same ring is delivered again.
    The clock reads `memory.notices.now`, whose time runs `speed` times as fast as real time.
    """

    def __init__(
        self,
        memory: Memory,
        sources: Sequence[NoticeSource],
        deliver: Deliver,
        *,
        user: str | None = None,
        threads: str = "*",
        without: str = "",
        away: float = AWAY_SECONDS,
        speed: float = 1.0,
    ) -> None:
        self._locks, self._now, self._sources = memory.locks, memory.notices.now, sources
        self._deliver, self._away_for, self._speed = deliver, away, speed
        self._user, self._threads, self._without = user, threads, without
        self._ringing: dict[str, asyncio.Task[None]] = {}
        self._away: dict[str, asyncio.Event] = {}
        """By thread, what tells that its user can be reached again."""

    @property
    def unreachable(self) -> list[str]:
        """The threads whose users could not be reached, and who are tried again later."""
        return [*self._away]

    def reached(self, thread: str) -> None:
        """Ring the waiting notices of a thread whose user has just written."""
        if waiting := self._away.pop(thread, None):
            waiting.set()

    async def run(self) -> None:
        """Ring what becomes due until cancelled; a ring that is being delivered is then cut off and comes again."""
        try:
            while True:
                for source in self._sources:
                    source.changed.clear()
                await self._sleep(min([await self._ring_due(source) for source in self._sources]))
        finally:
            await cancel(self._ringing.values())

    async def _ring_due(self, source: NoticeSource) -> float:
        """Begin to ring what a source has that is due; return the milliseconds until there may be more."""
        now = self._now() * 1000
        waits: list[float] = [LONGEST_SLEEP_MS]
        for due in await source.due(int(now) + LONGEST_SLEEP_MS, self._user, self._threads, self._without):
            if due.at_ms > now:
                waits.append(due.at_ms - now)
            elif due.id not in self._ringing:
                task = self._ringing[due.id] = asyncio.create_task(self._attempt(source, due))
                task.add_done_callback(partial(self._end, due.id))
        return min(waits)

    def _end(self, id: str, task: asyncio.Task[None]) -> None:
        del self._ringing[id]

    async def _sleep(self, ms: float) -> None:
        changes = [asyncio.create_task(source.changed.wait()) for source in self._sources]
        try:
            await asyncio.wait(changes, timeout=ms / 1000 / self._speed, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await cancel(changes)

    async def _attempt(self, source: NoticeSource, due: Due) -> None:
        try:
            while not await self._has_rung(source, due):
                await self._return_to(due.thread)
        except Exception:
            LOG.exception("%s could not be delivered", due.id)
            await asyncio.sleep(RETRY_SECONDS / self._speed)

    async def _has_rung(self, source: NoticeSource, due: Due) -> bool:
        """Ring a notice; False if its user cannot be reached."""
        try:
            await self._ring(source, due)
        except Unreachable:
            LOG.warning("%s waits: its user cannot be reached", due.id)
            return False
        return True

    async def _return_to(self, thread: str) -> None:
        waiting = self._away.setdefault(thread, asyncio.Event())
        with suppress(TimeoutError):
            async with asyncio.timeout(self._away_for / self._speed):
                await waiting.wait()

    async def _ring(self, source: NoticeSource, due: Due) -> None:
        async with self._locks.hold(due.thread):
            text = await source.text_of(due, is_late=self._now() * 1000 - due.at_ms > GRACE_MS)
            if text is not None:
                await self._deliver(Ring(due.id, due.thread, due.user, text))
                await source.rang(due)


@asynccontextmanager
async def ringing(
    memory: Memory,
    sources: Sequence[NoticeSource],
    deliver: Deliver,
    *,
    user: str | None = None,
    threads: str = "*",
    without: str = "",
    away: float = AWAY_SECONDS,
) -> AsyncIterator[Clock]:
    """Let a clock run during the block."""
    clock = Clock(memory, sources, deliver, user=user, threads=threads, without=without, away=away)
    async with running(clock.run()):
        yield clock
