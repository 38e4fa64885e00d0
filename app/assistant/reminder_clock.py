"""The clock: rings each reminder once, when it is due."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from agents.agenda import today_of
from agents.language.schedule.wording import worded_instant
from agents.memory import Memory
from agents.memory.reminder_row import Reminder
from app.tasks import cancel, running
from prompts import phrase

LOG = logging.getLogger(__name__)
LOOK_MS = 5_000
"""How long the clock sleeps at most: other processes add reminders, machines sleep, and clocks are set."""
GRACE_MS = 60_000
"""How late a reminder may ring and still be on time."""
RETRY = 30.0
"""Seconds until a reminder that could not be delivered is tried again."""
AWAY = 3600.0
"""Seconds until a user who could not be reached is tried again, unless they write before."""


class Unreachable(Exception):
    """Raised by `deliver` when the user cannot be reached: the reminder stays due, and is told as missed later."""


@dataclass(frozen=True)
class Ring:
    """A reminder that is due, as it is delivered."""

    id: str
    """The same for the same occurrence of a reminder, so that a repeated delivery is recognised."""
    thread: str
    user: str
    text: str
    """What to tell the user; says so if it comes too late."""


Deliver = Callable[[Ring], Awaitable[None]]
"""Delivers a reminder while its thread is held; may be called with the same one again after a crash."""


class Clock:
    """Ring the reminders that are due: those of one `user` or of all, in the threads of a GLOB pattern.

    Threads of the pattern `without` are left to others. A user who could not be reached is tried again after `away`
    seconds. Several clocks may ring the same database: each reminder rings once, since its thread is held meanwhile.

    A reminder rings when its thread is free, so that a turn that deletes or changes it is over by then.
    It counts as rung when `deliver` has returned: after a crash in between the same ring is delivered again.
    A repetition that was missed several times is told once. The clock reads `memory.now`, whose time runs
    `speed` times as fast as real time.
    """

    def __init__(
        self,
        memory: Memory,
        deliver: Deliver,
        *,
        user: str | None = None,
        threads: str = "*",
        without: str = "",
        away: float = AWAY,
        speed: float = 1.0,
    ) -> None:
        self._memory, self._deliver, self._away_for, self._speed = memory, deliver, away, speed
        self._now = memory.now
        self._user, self._threads, self._without = user, threads, without
        self._ringing: dict[int, asyncio.Task[None]] = {}
        self._away: dict[str, asyncio.Event] = {}
        """By thread, what tells that its user can be reached again."""

    @property
    def unreachable(self) -> list[str]:
        """The threads whose users could not be reached, and who are tried again later."""
        return [*self._away]

    def reached(self, thread: str) -> None:
        """Ring the waiting reminders of a thread whose user has just written."""
        if waiting := self._away.pop(thread, None):
            waiting.set()

    async def run(self) -> None:
        """Ring what becomes due until cancelled; a ring that is being delivered is then cut off and comes again."""
        try:
            while True:
                self._memory.reminders.changed.clear()
                await self._sleep(await self._ring_due())
        finally:
            await cancel(self._ringing.values())

    async def _ring_due(self) -> float:
        """Begin to ring what is due; return the milliseconds until there may be more."""
        now = self._now() * 1000
        reminders = await self._memory.reminders.due(int(now) + LOOK_MS, self._user, self._threads, self._without)
        waits: list[float] = [LOOK_MS]
        for reminder in reminders:
            if reminder.at_ms > now:
                waits.append(reminder.at_ms - now)
            elif reminder.id not in self._ringing:
                task = self._ringing[reminder.id] = asyncio.create_task(self._attempt(reminder))
                task.add_done_callback(partial(self._over, reminder.id))
        return min(waits)

    def _over(self, reminder: int, task: asyncio.Task[None]) -> None:
        del self._ringing[reminder]

    async def _sleep(self, ms: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(ms / 1000 / self._speed):
                await self._memory.reminders.changed.wait()

    async def _attempt(self, reminder: Reminder) -> None:
        try:
            while not await self._has_rung(reminder):
                await self._return_to(reminder.thread)
        except Exception:
            LOG.exception("reminder %s could not be delivered", reminder.id)
            await asyncio.sleep(RETRY / self._speed)

    async def _has_rung(self, reminder: Reminder) -> bool:
        """Ring a reminder; False if its user cannot be reached."""
        try:
            await self._ring(reminder)
        except Unreachable:
            LOG.warning("reminder %s waits: its user cannot be reached", reminder.id)
            return False
        return True

    async def _return_to(self, thread: str) -> None:
        waiting = self._away.setdefault(thread, asyncio.Event())
        with suppress(TimeoutError):
            async with asyncio.timeout(self._away_for / self._speed):
                await waiting.wait()

    async def _ring(self, due: Reminder) -> None:
        async with self._memory.locks.hold(due.thread):
            reminder = await self._memory.reminders.still_due(due)
            if reminder is None:
                return
            late = self._now() * 1000 - reminder.at_ms > GRACE_MS
            after = datetime.fromtimestamp(self._now(), UTC)
            await self._deliver(await self._ring_of(reminder, after, late=late))
            moment = reminder.moment
            await self._memory.reminders.rang(reminder, moment.following(after) if moment.repeat else None)

    async def _ring_of(self, reminder: Reminder, now: datetime, *, late: bool) -> Ring:
        lang, at = reminder.lang, reminder.moment.at
        text = phrase("reminder_rings", lang, text=reminder.text)
        if reminder.kind == "day":
            text = await today_of(self._memory.reminders, self._memory.store, reminder.user, lang)
        elif late:
            text = phrase("reminder_missed", lang, text=reminder.text, when=worded_instant(at, lang, now))
        return Ring(f"reminder-{reminder.id}-{reminder.due_ms}", reminder.thread, reminder.user, text)


@asynccontextmanager
async def ringing(
    memory: Memory,
    deliver: Deliver,
    *,
    user: str | None = None,
    threads: str = "*",
    without: str = "",
    away: float = AWAY,
) -> AsyncIterator[Clock]:
    """Let a clock run during the block."""
    clock = Clock(memory, deliver, user=user, threads=threads, without=without, away=away)
    async with running(clock.run()):
        yield clock
