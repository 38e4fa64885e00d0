"""Streams of what is said in threads: their bounds, their end, and the notices that ring where one is open."""

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
from app.process.tasks import Beside, wait_for_event

LOG = logging.getLogger(__name__)
MOST_STREAMS, MOST_OF_HOLDER, MOST_TABS = 1_000, 100, 4
"""Streams of this process, those of one key or session, and those of the pages of one browser."""
LOOK = 0.3
"""Seconds between two looks for what any process has written."""
PATIENCE = 10.0
"""Seconds that a notice waits for the conversation in which it is told."""
AGAIN = 5.0
"""Seconds until a database that failed is looked at again."""
STILL_RETRY = format_sse_event(comment="open", retry=1_000)


@dataclass(eq=False)
class EventStream:
    """A stream of a thread that somebody holds open."""

    thread: str
    holder: str
    user: str = ""
    family: str = ""
    """How the names of the user's other threads begin whose reminders ring here; empty: none do."""
    is_closed: bool = False
    farewell: bytes = b""
    """What ends the stream, for a client that is not to come back by itself."""
    news: asyncio.Event = field(default_factory=asyncio.Event)

    def reaches(self, due: Due | Ring) -> bool:
        """Tell whether whoever holds the stream is to be told this."""
        is_own = bool(self.family) and due.user == self.user and due.thread.startswith(self.family)
        return due.thread == self.thread or is_own

    def close(self, farewell: bytes = b"") -> None:
        """End the stream."""
        self.is_closed, self.farewell = True, farewell
        self.news.set()


class EventStreams(Beside):
    """The open streams of this process. Notices of their threads ring; those of others wait until a stream is open."""

    def __init__(self, assistant: Assistant) -> None:
        self._assistant = assistant
        self._streams: dict[EventStream, None] = {}
        self._first = asyncio.Event()
        sources = [source for source in assistant.sources if not source.is_silent]
        self._clock = Clock(assistant.memory, sources, self._deliver, reaches=self._reaches)
        assistant.memory.erasers.append(self._erase)

    async def run(self) -> None:
        """Wake the streams of threads in which something was said, also by another process, until cancelled."""
        async with self._clock:
            seen = None
            while True:
                if not self._streams:
                    self._first.clear()
                    await self._first.wait()
                    seen = None
                try:
                    for row, thread, _ in await self._assistant.memory.transcript.latest(seen):
                        seen = row
                        self.wake(thread)
                except DatabaseError:
                    LOG.exception("what was said cannot be looked for")
                    await asyncio.sleep(AGAIN)
                await asyncio.sleep(LOOK)

    def wake(self, thread: str) -> None:
        """Let the streams of a thread look for what is new."""
        for stream in self._streams:
            if stream.thread == thread:
                stream.news.set()

    def admit(self, holder: str) -> None:
        """Raise Busy if no further stream of a holder is taken on."""
        count = sum(stream.holder == holder for stream in self._streams)
        if len(self._streams) >= MOST_STREAMS or count >= MOST_OF_HOLDER:
            raise Busy

    def of(self, holder: str) -> list[EventStream]:
        """Return the streams of a holder, oldest first."""
        return [stream for stream in self._streams if stream.holder == holder]

    async def read(self, stream: EventStream, news: Callable[[], AsyncIterator[bytes]]) -> AsyncIterator[bytes]:
        """Yield what `news` has whenever something was said, and signs of life, until the stream is closed."""
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
            # The client comes back behind what it has read.
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
        """Say it in its thread, or where that is not open in the conversation that the user has before them."""
        reaching = [stream for stream in self._streams if stream.reaches(ring)]
        threads = {stream.thread for stream in reaching}
        if not threads or (ring.is_stored and ring.thread not in threads):
            raise Unreachable(f"in {ring.thread}")
        thread = ring.thread if ring.thread in threads else reaching[-1].thread
        async with AsyncExitStack() as stack:
            if thread != ring.thread:
                # Two threads that wait for each other give up, and one of them is first the next time.
                async with asyncio.timeout(PATIENCE):
                    await stack.enter_async_context(self._assistant.memory.locks.hold(thread))
            if not ring.is_stored:
                await self._assistant.tell(thread, ring.text, ring.id, ring.user)
        self.wake(thread)

    async def _erase(self, thread: str, users: Collection[str]) -> None:
        for stream in self._streams:
            if storable(stream.thread) == storable(thread) or stream.user in users:
                stream.close()
