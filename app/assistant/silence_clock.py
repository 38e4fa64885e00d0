"""The clock of silence: asks a user who says nothing whether they are still there."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from agents.memory.inbox import SILENCE, TranscriptLine
from agents.memory.preferences import Preferences, machine_zone
from app.assistant.assistant import Assistant
from app.tasks import running
from prompts import phrase

LOG = logging.getLogger(__name__)
LOOK = 2.0
"""Seconds between two looks at what was said."""
LATE_MS = 300_000
"""How late a user may be asked: later, as after a restart, it is left out."""
DAY = range(8, 22)
"""The hours in which people are asked, by their own clocks; whoever is silent at night sleeps."""
AWAITING = ("llm", "greeting", SILENCE)
"""The sources of lines after which the user is expected to say something."""


@dataclass(frozen=True)
class Nudge:
    """The question to a silent user, as it is delivered."""

    id: str
    """The same for the same silence, so that nobody is asked twice."""
    thread: str
    user: str
    text: str


Deliver = Callable[[Nudge], Awaitable[bool]]
"""Stores and shows the question while its thread is held; False if this is not the moment, and it is tried again."""


class SilenceClock:
    """Ask the users of the threads that `is_ours` names; how soon and how often the speakers say.

    Nobody is asked whose message waits or is being answered, in a thread of several people, after an answer that was
    stopped or failed, or at night. What was asked stands in the transcript, so a restart asks nothing again.
    """

    def __init__(self, assistant: Assistant, deliver: Deliver, is_ours: Callable[[str], bool]) -> None:
        self._assistant, self._deliver, self._is_ours = assistant, deliver, is_ours
        self._memory = assistant.memory
        self._soonest_ms = assistant.shortest_silence * 1000
        self._seen: int | None = None
        """The last line of all transcripts that was looked at."""
        self._due: dict[str, int] = {}
        """When to look at a thread next, Unix time in ms."""

    def heard(self, thread: str) -> None:
        """Note that the user of a thread has done something: nobody is asked for the silence before it."""
        self._due.pop(thread, None)

    async def run(self) -> None:
        """Ask until cancelled; return at once if no speaker minds silence."""
        while self._soonest_ms:
            await self.look()
            await asyncio.sleep(LOOK)

    async def look(self) -> None:
        """Take in what was said since the last look, and ask where it is time."""
        for row, thread, at_ms in await self._memory.transcript.latest(self._seen):
            self._seen = row
            if self._is_ours(thread):
                self._due[thread] = at_ms + self._soonest_ms
        now_ms = self._now() * 1000
        due = [thread for thread, due_ms in self._due.items() if due_ms <= now_ms]
        for thread in due:
            del self._due[thread]
        # A thread may have been left for another one since.
        await asyncio.gather(*map(self._attempt, filter(self._is_ours, due)))

    async def _attempt(self, thread: str) -> None:
        try:
            if await self._memory.transcript.open_entries(thread):
                # The user has said something, and what comes of it is a new line.
                return
            async with self._memory.locks.hold(thread):
                again_ms = await self._ask(thread)
            if again_ms:
                self._due.setdefault(thread, again_ms)
        except Exception:
            LOG.exception("thread %s: its user could not be asked after a silence", thread)

    async def _ask(self, thread: str) -> int | None:
        """Ask the user if it is time; return when to look again, None if only after another line."""
        state = await self._assistant.state(thread)
        if state is None or "persons" in state:
            return None
        silence, now_ms = self._assistant.silence(state["dialog"]), int(self._now() * 1000)
        lines = await self._memory.transcript.lines(thread, limit=silence.times + 1)
        nudge_count = _trailing(lines)
        if not lines or not silence.seconds or nudge_count >= silence.times or not _awaits(lines[-1]):
            return None
        due_ms = lines[-1].at_ms + silence.seconds * 1000
        if now_ms < due_ms:
            return due_ms
        last = await self._memory.transcript.last(thread)
        if last is None or now_ms > due_ms + LATE_MS or await self._sleeps(last.user):
            return None
        id = f"silence-{lines[-1 - nudge_count].message_id}-{nudge_count + 1}"
        is_asked = await self._deliver(Nudge(id, thread, last.user, phrase("still_there", state["lang"])))
        return None if is_asked else now_ms

    def _now(self) -> float:
        return self._memory.now()

    async def _sleeps(self, user: str) -> bool:
        zone = (await Preferences.of(self._memory.store, user)).zone or machine_zone()
        return datetime.fromtimestamp(self._now(), UTC).astimezone(zone).hour not in DAY


@asynccontextmanager
async def asking_after(
    assistant: Assistant, deliver: Deliver, is_ours: Callable[[str], bool]
) -> AsyncIterator[SilenceClock]:
    """Let a clock of silence run during the block."""
    clock = SilenceClock(assistant, deliver, is_ours)
    async with running(clock.run()):
        yield clock


def _trailing(lines: list[TranscriptLine]) -> int:
    """Return how often the user was asked since they last said something."""
    return next((n for n, line in enumerate(reversed(lines)) if line.metadata.get("source") != SILENCE), len(lines))


def _awaits(line: TranscriptLine) -> bool:
    """Tell whether the user is expected to say something after a line."""
    return line.metadata.get("source") in AWAITING and not line.metadata.get("interrupted")
