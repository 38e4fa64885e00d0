"""Event streams of threads: their limits, their end, and the notices that ring in open streams."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from fastapi.sse import format_sse_event

from agents.errors import DatabaseError
from agents.memory.inbox import storable
from agents.memory.notices import Due
from app.assistant import Assistant
from app.assistant.clocks import Clock, Ring, Unreachable
from app.doors.http.answers import Busy
from app.doors.http.delivery import ALIVE_EVERY, STILL_HERE
from app.process.tasks import BackgroundTask, wait_for_event

LOG = logging.getLogger(__name__)
MOST_STREAMS, MOST_OF_HOLDER, MOST_TABS = 1_000, 100, 4
"""Limits of streams: of this process, of one key or session, and of the pages of one browser."""
LOOK = 0.3
"""Seconds between two looks for new rows of any process."""
PATIENCE = 10.0
"""Seconds that a notice waits for the lock of its conversation."""
AGAIN = 5.0
"""Seconds until the next try after a failure of the database."""
STILL_RETRY = format_sse_event(comment="open", retry=1_000)


@dataclass(eq=False)
class EventStream:
    """An open stream of a thread."""

    thread: str
    holder: str
    user: str = ""
    family: str = ""
    """The name prefix of the user's other threads whose reminders ring here too; empty: none do."""
    is_closed: bool = False
    farewell: bytes = b""
    """The last bytes of the stream, for a client that must not reconnect by itself."""
    news: asyncio.Event = field(default_factory=asyncio.Event)

    def reaches(self, due: Due | Ring) -> bool:
        """Tell whether a notice is for the reader of the stream."""
        is_own = bool(self.family) and due.user == self.user and due.thread.startswith(self.family)
        return due.thread == self.thread or is_own

    def close(self, farewell: bytes = b"") -> None:
        """End the stream."""
        self.is_closed, self.farewell = True, farewell
        self.news.set()


class EventStreams(BackgroundTask):
    """The open streams of this process. Notices of their threads ring; notices of other threads wait for a stream."""

    def __init__(self, assistant: Assistant) -> None:
        self._assistant = assistant
        self._streams: dict[EventStream, None] = {}
        self._first = asyncio.Event()
        sources = [source for source in assistant.sources if not source.is_silent]
        self._clock = Clock(assistant.memory, sources, self._deliver, reaches=self._reaches)
        assistant.memory.erasers.append(self._erase)

    async def run(self) -> None:
        """Wake the streams of threads with new messages, also those of another process, until cancelled."""
        async with self._clock:
            last_row = None
            while True:
                if not self._streams:
                    self._first.clear()
                    await self._first.wait()
                    last_row = None
                try:
                    for row, thread, _ in await self._assistant.memory.transcript.latest(last_row):
                        last_row = row
                        self.wake(thread)
                except DatabaseError:
                    LOG.exception("what was said cannot be looked for")
                    await asyncio.sleep(AGAIN)
                await asyncio.sleep(LOOK)

    def wake(self, thread: str) -> None:
        """Let the streams of a thread look for news."""
        for stream in self._streams:
            if stream.thread == thread:
                stream.news.set()

    def admit(self, holder: str) -> None:
        """Raise Busy if the holder, or the process, has too many streams."""
        count = sum(stream.holder == holder for stream in self._streams)
        if len(self._streams) >= MOST_STREAMS or count >= MOST_OF_HOLDER:
            raise Busy

    def of(self, holder: str) -> list[EventStream]:
        """Return the streams of a holder, oldest first."""
        return [stream for stream in self._streams if stream.holder == holder]

    async def read(self, stream: EventStream, news: Callable[[], AsyncIterator[bytes]]) -> AsyncIterator[bytes]:
        """Yield the frames of `news` after each wake, and signs of life, until the stream is closed."""
        self._streams[stream] = None
        self._first.set()
        self._clock.reached(stream.thread)
        self._clock.look()
        transcript, is_begun = self._assistant.memory.transcript, False
        try:
            yield STILL_RETRY
            while not stream.is_closed:
                stream.news.clear()
                async for frame in news():
                    yield frame
                was_begun, is_begun = is_begun, bool(await transcript.lines(stream.thread, limit=1))
                if was_begun and not is_begun:
                    # Another process has forgotten the thread.
                    stream.close()
                elif not await wait_for_event(stream.news, ALIVE_EVERY):
                    yield STILL_HERE
            yield stream.farewell
        except DatabaseError as fault:
            # The client reconnects and continues after the last event that it has read.
            LOG.error("thread %s: its stream ends: the database cannot be used: %s", stream.thread, fault)
        finally:
            del self._streams[stream]

    async def close(self) -> None:
        """End all streams."""
        for stream in self._streams:
            stream.close()

    def _reaches(self, due: Due) -> bool:
        return any(stream.reaches(due) for stream in self._streams)

    async def _deliver(self, ring: Ring) -> None:
        """Say a notice in its thread, or, without a stream of it, in the conversation that the user has open."""
        reaching = [stream for stream in self._streams if stream.reaches(ring)]
        threads = {stream.thread for stream in reaching}
        if not threads or (ring.is_stored and ring.thread not in threads):
            raise Unreachable(f"in {ring.thread}")
        thread = ring.thread if ring.thread in threads else reaching[-1].thread
        async with AsyncExitStack() as stack:
            if thread != ring.thread:
                # Of two threads that wait for each other both give up; one of them gets its turn the next time.
                async with asyncio.timeout(PATIENCE):
                    await stack.enter_async_context(self._assistant.memory.locks.hold(thread))
            if not ring.is_stored:
                await self._assistant.tell(thread, ring.text, ring.id, ring.user)
        self.wake(thread)

    async def _erase(self, thread: str, users: Collection[str]) -> None:
        for stream in self._streams:
            if storable(stream.thread) == storable(thread) or stream.user in users:
                stream.close()
