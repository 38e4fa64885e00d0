"""Two clocks: one rings each due notice once; one asks silent users whether they are still there."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import takewhile

from agents.foreign import contained
from agents.language.text.clean import whole
from agents.memory import Memory
from agents.memory.inbox import SILENCE
from agents.memory.notices import Due, NoticeSource
from agents.memory.preferences import Preferences, machine_zone
from app.assistant.thread_reader import ThreadReader
from app.process.tasks import BackgroundTask, cancel, wait_for_event
from prompts import phrase

LOG = logging.getLogger(__name__)
LONGEST_SLEEP_MS = 5_000
"""The longest sleep of the clock: other processes add notices, machines sleep, and clocks are set."""
GRACE_MS = 60_000
"""The delay up to which a notice still counts as on time."""
RETRY_SECONDS = 30.0
"""Seconds until a notice that could not be delivered is tried again."""
TURN_SECONDS = 5.0
"""Seconds that a notice waits for the delivery of those before it."""
ENDING_SECONDS = 2.0
"""Seconds that a stopped clock gives to a delivery in progress."""
AWAY_SECONDS = 3600.0
"""Seconds until a user who could not be reached is tried again, unless they write before."""
LOOK = 2.0
"""Seconds between two looks at the transcript."""
LATE_MS = 300_000
"""The longest delay of the question: later, as after a restart, it is left out."""
DAY = range(8, 22)
"""The hours of the question, by the user's own clock: a user who is silent at night sleeps."""
AWAITING = ("llm", "greeting", SILENCE)
"""The sources of lines that expect an answer from the user."""


class Unreachable(Exception):
    """Raised by `deliver` when the user cannot be reached: the notice stays due, and rings as a missed one later."""


@dataclass(frozen=True)
class Ring:
    """A due notice, in the form of its delivery."""

    id: str
    """The same id for each delivery of the same notice, so that a repeated one is recognised."""
    thread: str
    user: str
    text: str
    """The notice's text for the user; a late one says so."""
    is_stored: bool = False
    """Whether the notice stands in the transcript already, though no user has seen it."""


Deliver = Callable[[Ring], Awaitable[None]]
"""Delivers a notice while its thread is held; may be called with the same one again after a crash."""


class Clock(BackgroundTask):
    """Ring the notices that are due: those of one `user` or of all, in the threads of a GLOB pattern.

    Notices that `reaches` does not take are left to others.
    A user who could not be reached is tried again after `away` seconds. Several clocks may ring the same database: each
    notice rings once, since its thread is held meanwhile.

    A notice rings when its thread is free, so that a turn that deletes or changes it is over by then.
    It counts as rung when `deliver` has returned: after a crash in between the same ring is delivered again.
    Notices are delivered one by one, so that a crash repeats one of them, unless one takes long.
    The clock reads `memory.now`, whose time runs `speed` times as fast as real time.
    """

    def __init__(
        self,
        memory: Memory,
        sources: Sequence[NoticeSource],
        deliver: Deliver,
        *,
        user: str | None = None,
        threads: str = "*",
        reaches: Callable[[Due], bool] = lambda _: True,
        away: float = AWAY_SECONDS,
        speed: float = 1.0,
    ) -> None:
        self._locks, self._now, self._sources = memory.locks, memory.now, sources
        self._deliver, self._away_for, self._speed = deliver, away, speed
        self._user, self._threads, self._reaches = user, threads, reaches
        self._delivery = asyncio.Lock()
        self._ringing: dict[str, asyncio.Task[None]] = {}
        self._delivering: set[str] = set()
        """The notices that are on their way to their users."""
        self._rests: dict[NoticeSource, float] = {}
        """The times at which sources are tried again that have failed."""
        self._away: dict[str, asyncio.Event] = {}
        """The events for a user within reach again, by thread."""

    @property
    def unreachable(self) -> list[str]:
        """The threads whose users could not be reached, and who are tried again later."""
        return [*self._away]

    def reached(self, thread: str) -> None:
        """Ring the waiting notices of a thread whose user has just written."""
        if waiting := self._away.pop(thread, None):
            waiting.set()

    def look(self) -> None:
        """Look for due notices at once."""
        for source in self._sources:
            source.changed.set()

    async def run(self) -> None:
        """Ring due notices until cancelled; a delivery that then takes long is cut off, and comes again."""
        try:
            while True:
                for source in self._sources:
                    source.changed.clear()
                await self._sleep(min([await self._ring_due(source) for source in self._sources]))
        finally:
            # A message that arrives without being marked as rung would arrive again.
            if delivering := [self._ringing[id] for id in self._delivering]:
                await asyncio.wait(delivering, timeout=ENDING_SECONDS)
            await cancel(self._ringing.values())

    async def _ring_due(self, source: NoticeSource) -> float:
        """Begin to ring the due notices of a source; return the milliseconds until the next look."""
        now = self._now() * 1000
        waits: list[float] = [LONGEST_SLEEP_MS]
        if (left := self._rests.get(source, 0) - now) > 0:
            return left
        try:
            with contained():
                due_notices = await source.due(int(now) + LONGEST_SLEEP_MS, self._user, self._threads)
        except Exception:
            LOG.exception("%s: its due notices cannot be read", type(source).__qualname__)
            self._rests[source] = now + RETRY_SECONDS * 1000
            return RETRY_SECONDS * 1000
        for due in due_notices:
            if due.at_ms > now:
                waits.append(due.at_ms - now)
            elif due.id not in self._ringing and self._reaches(due):
                self._ringing[due.id] = asyncio.create_task(self._attempt(source, due))
        return min(waits)

    async def _sleep(self, ms: float) -> None:
        changes = [asyncio.create_task(source.changed.wait()) for source in self._sources]
        try:
            await asyncio.wait(changes, timeout=ms / 1000 / self._speed, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await cancel(changes)

    async def _attempt(self, source: NoticeSource, due: Due) -> None:
        try:
            while True:
                try:
                    with contained():
                        return await self._ring(source, due)
                except Unreachable as reason:
                    LOG.warning("%s waits: its user cannot be reached %s", due.id, reason)
                    await self._return_to(due.thread)
        except Exception:
            LOG.exception("%s could not be delivered", due.id)
            await asyncio.sleep(RETRY_SECONDS / self._speed)
        finally:
            del self._ringing[due.id]

    async def _return_to(self, thread: str) -> None:
        waiting = self._away.setdefault(thread, asyncio.Event())
        await wait_for_event(waiting, self._away_for / self._speed)

    async def _ring(self, source: NoticeSource, due: Due) -> None:
        async with self._locks.hold(due.thread), self._one_by_one():
            text = await source.text_of(due, is_late=self._now() * 1000 - due.at_ms > GRACE_MS)
            if text is None:
                return
            self._delivering.add(due.id)
            try:
                await self._deliver(Ring(due.id, due.thread, due.user, whole(text), source.is_stored))
                await source.rang(due)
            finally:
                self._delivering.discard(due.id)

    @asynccontextmanager
    async def _one_by_one(self) -> AsyncIterator[None]:
        """Wait for earlier deliveries, but not for long: a hanging one must not hold up the others."""
        is_in_turn = False
        with suppress(TimeoutError):
            async with asyncio.timeout(TURN_SECONDS / self._speed):
                is_in_turn = await self._delivery.acquire()
        try:
            yield
        finally:
            if is_in_turn:
                self._delivery.release()


Ask = Callable[[Ring], Awaitable[bool]]
"""Stores and shows the question while its thread is held; False if this is a wrong moment: the clock tries again."""


class SilenceClock(BackgroundTask):
    """Ask the silent users of the threads for which `is_ours` is true; the speakers set delay and number of questions.

    A user is not asked while a message waits or is being answered, in a thread of several people, after an answer that
    was stopped or failed, or at night. The question stands in the transcript, so a restart does not ask it again.
    """

    def __init__(self, reader: ThreadReader, deliver: Ask, is_ours: Callable[[str], bool]) -> None:
        self._reader, self._deliver, self._is_ours = reader, deliver, is_ours
        self._memory = reader.memory
        self._soonest_ms = reader.shortest_silence * 1000
        self._seen: int | None = None
        """The last seen line of all transcripts."""
        self._due: dict[str, int] = {}
        """The next look at each thread, as Unix time in ms."""

    def heard(self, thread: str) -> None:
        """Note that the user of a thread has done something: the silence before it asks no question."""
        self._due.pop(thread, None)

    async def run(self) -> None:
        """Ask until cancelled; return at once if no speaker minds silence."""
        while self._soonest_ms:
            await self.look()
            await asyncio.sleep(LOOK)

    async def look(self) -> None:
        """Read the transcript lines since the last look, and ask in threads where it is time."""
        for row, thread, at_ms in await self._memory.transcript.latest(self._seen):
            self._seen = row
            if self._is_ours(thread):
                self._due[thread] = at_ms + self._soonest_ms
        now_ms = self._memory.now() * 1000
        due = [thread for thread, due_ms in self._due.items() if due_ms <= now_ms]
        for thread in due:
            del self._due[thread]
        # A thread may have been left for another one since.
        await asyncio.gather(*map(self._attempt, filter(self._is_ours, due)))

    async def _attempt(self, thread: str) -> None:
        try:
            if await self._memory.transcript.open_entries(thread):
                # The user has written, and the answer will be a new line.
                return
            async with self._memory.locks.hold(thread):
                again_ms = await self._ask(thread)
            if again_ms:
                self._due.setdefault(thread, again_ms)
        except Exception:
            LOG.exception("thread %s: its user could not be asked after a silence", thread)

    async def _ask(self, thread: str) -> int | None:
        """Ask the user if it is time; return the time of the next look, None to wait for another line."""
        state = await self._reader.state(thread)
        if state is None or "persons" in state:
            return None
        silence, now_ms = self._reader.silence(state["dialog"]), int(self._memory.now() * 1000)
        lines = await self._memory.transcript.lines(thread, limit=silence.times + 1)
        nudge_count = len([*takewhile(lambda line: line.metadata.get("source") == SILENCE, reversed(lines))])
        if not lines or not silence.seconds or nudge_count >= silence.times:
            return None
        if lines[-1].metadata.get("source") not in AWAITING or lines[-1].metadata.get("interrupted"):
            return None
        due_ms = lines[-1].at_ms + silence.seconds * 1000
        if now_ms < due_ms:
            return due_ms
        last = await self._memory.transcript.last(thread)
        if last is None or now_ms > due_ms + LATE_MS or await self._is_asleep(last.user):
            return None
        id = f"silence-{lines[-1 - nudge_count].message_id}-{nudge_count + 1}"
        is_asked = await self._deliver(Ring(id, thread, last.user, phrase("still_there", state["lang"])))
        return None if is_asked else now_ms

    async def _is_asleep(self, user: str) -> bool:
        zone = (await Preferences.of(self._memory.store, user)).zone or machine_zone()
        return datetime.fromtimestamp(self._memory.now(), UTC).astimezone(zone).hour not in DAY
