"""A worker: it plays the turns from doors, several at a time, until it is stopped."""

import asyncio
import logging
from contextlib import aclosing
from typing import Literal

import psycopg
from procrastinate import RetryStrategy
from procrastinate.exceptions import ProcrastinateException

from agents.errors import DatabaseError
from agents.events import Error, Event
from app.assistant import Assistant
from app.plugins.postgres.queue import PLAY, QUEUE, STOPS, EventPage, JobQueue, TakenTurn
from app.process.exit_codes import STORAGE
from app.process.tasks import BackgroundTask, cancel, wait_for_event

LOG = logging.getLogger(__name__)
POLL = 0.1
"""Seconds between two looks for turns: the end of a turn does not wake the next one of its thread."""
BEAT, SILENCE = 1.0, 6.0
"""Seconds between two signs of life, and seconds without one until a worker's turns are given to others."""
DRAIN = 10.0
"""Seconds for the running turns of a stopped worker; the unfinished ones are then given to others."""
AGAIN = 1
"""Seconds until the next try of a turn after a failed database or a stopped worker, and of a lost queue."""
PACE = 0.03
"""Seconds between two writes of a model's tokens: a door gets some thirty writes a second, at most."""
STOP_AGAIN = 0.05
"""Seconds until the next order to stop an answer that has not begun."""
MOST_ATTEMPTS = 50
"""The most attempts at a turn; a turn that has killed so many workers is not played again."""


class Worker(BackgroundTask):
    """Plays up to `most` turns at a time."""

    def __init__(self, assistant: Assistant, queue: JobQueue, most: int) -> None:
        self._assistant, self._queue, self._most = assistant, queue, most
        self._playing = set[str]()
        self._stopping: dict[str, asyncio.Task[None]] = {}
        queue.tasks.task(name=PLAY, queue=QUEUE, retry=RetryStrategy(wait=AGAIN))(self._play)

    async def run(self) -> None:
        """Play until cancelled; then wait for the running turns, for `DRAIN` seconds."""
        async with self._queue.listener(STOPS, self._heard), _Rescue(self._assistant, self._queue):
            while True:
                try:
                    await self._queue.tasks.run_worker_async(
                        queues=[QUEUE],
                        concurrency=self._most,
                        fetch_job_polling_interval=POLL,
                        shutdown_graceful_timeout=DRAIN,
                        update_heartbeat_interval=BEAT,
                        stalled_worker_timeout=SILENCE,
                        delete_jobs="always",
                        install_signal_handlers=False,
                    )
                except (ProcrastinateException, psycopg.Error) as fault:
                    LOG.warning("the queue cannot be used (%s)", type(fault).__name__)
                await asyncio.sleep(AGAIN)

    async def _play(self, request: str) -> None:
        taken = await self._queue.take(request)
        if taken is None:
            return
        self._playing.add(request)
        if taken.is_stopped:
            self._heard(request)
        try:
            async with asyncio.TaskGroup() as group:
                outlet = Outlet(self._queue, taken)
                group.create_task(outlet.run())
                outlet.end(await self._played(taken, outlet))
        finally:
            self._playing.remove(request)
            await cancel([self._stopping.pop(request)] if request in self._stopping else [])

    async def _played(self, taken: TakenTurn, outlet: "Outlet") -> bool:
        """Play a turn; False if it failed by a fault of ours. Raises DatabaseError: the turn must be played again."""
        if taken.attempt > MOST_ATTEMPTS:
            LOG.error("thread %s: a message was begun %d times; it is left", taken.turn.thread, MOST_ATTEMPTS)
            return False
        try:
            async with aclosing(self._assistant.play(taken.turn)) as events:
                async for event in events:
                    if isinstance(event, Error) and event.code == STORAGE:
                        raise DatabaseError("the database failed in a turn")
                    outlet.put(event)
        except DatabaseError:
            raise
        except Exception:
            LOG.exception("thread %s: something went wrong", taken.turn.thread)
            return False
        return True

    def _heard(self, request: str) -> None:
        """Stop a running answer of this worker; check all of them if orders may have been missed."""
        for playing in self._playing if not request else self._playing & {request}:
            if playing not in self._stopping or self._stopping[playing].done():
                self._stopping[playing] = asyncio.create_task(self._stop(playing))

    async def _stop(self, request: str) -> None:
        """Stop an answer, also one that has not begun yet."""
        while wish := await self._queue.wanted_stop(request):
            if await self._assistant.stop(**wish):
                return
            await asyncio.sleep(STOP_AGAIN)


class Outlet:
    """Writes the events of a turn; events that come close together are one write."""

    def __init__(self, queue: JobQueue, taken: TakenTurn) -> None:
        self._queue, self._taken = queue, taken
        self._events: list[Event] = []
        self._news, self._end = asyncio.Event(), asyncio.Event()
        self._last: Literal["over", "failed"] = "over"

    def put(self, event: Event) -> None:
        """Take an event for the next write."""
        self._events.append(event)
        self._news.set()

    def end(self, is_well: bool) -> None:
        """End the turn's events; the rest is written, with its state."""
        self._last = "over" if is_well else "failed"
        self._end.set()
        self._news.set()

    async def run(self) -> None:
        """Write until the end. Raises DatabaseError."""
        number, is_over = 0, False
        while not is_over:
            await self._news.wait()
            self._news.clear()
            number, is_over = number + 1, self._end.is_set()
            events, self._events = self._events, []
            place = self._taken.attempt, number
            await self._queue.write(self._taken, EventPage(place, events, self._last if is_over else "open"))
            if not is_over:
                await wait_for_event(self._end, PACE)


class _Rescue(BackgroundTask):
    """Looks for the turns of dead workers."""

    def __init__(self, assistant: Assistant, queue: JobQueue) -> None:
        self._locks, self._queue = assistant.memory.locks, queue

    async def run(self) -> None:
        """Give them to others until cancelled."""
        while True:
            await asyncio.sleep(BEAT)
            try:
                # A turn that two workers hand on would be played twice.
                async with self._locks.hold("\0stalled turns"):
                    await self._queue.hand_on_stalled(SILENCE)
            except DatabaseError as fault:
                LOG.warning("turns of dead workers cannot be looked for (%s)", fault)
