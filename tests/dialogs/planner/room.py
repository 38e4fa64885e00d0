"""A database whose reminders ring as time is set."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from agents.language.schedule.parser import moment
from agents.memory import Memory, open_memory
from app.assistant.clocks import Clock, Ring
from app.composition import open_services, tables_of
from dialogs.planner import dialog
from dialogs.planner.records import Reminder
from dialogs.planner.store import Reminders

BERLIN = ZoneInfo("Europe/Berlin")
FRIDAY = datetime(2026, 11, 20, 10, tzinfo=BERLIN)


@asynccontextmanager
async def open_reminders(path: Path, now: Callable[[], float] = time.time) -> AsyncIterator[tuple[Memory, Reminders]]:
    """Open a database and its reminders."""
    planner = {"planner": dialog}
    async with (
        open_memory(f"sqlite:///{path}", now, tables=tables_of(planner)) as memory,
        open_services(planner, memory) as services,
    ):
        yield memory, services.get(Reminders)


class Room:
    """A database whose clock stands until it is set, and what rang in it."""

    def __init__(self, path: Path, now: datetime = FRIDAY) -> None:
        self.path, self.at = path, now
        self.rings: list[Ring] = []
        self.before: Callable[[Ring], None] = lambda ring: None

    @asynccontextmanager
    async def open(self, *, user: str | None = None, threads: str = "*") -> AsyncIterator[Memory]:
        """Open the database and let what is due ring."""
        async with open_reminders(self.path, lambda: self.at.timestamp()) as (memory, self.reminders):
            clock = Clock(memory, [self.reminders], self._deliver, user=user, threads=threads, speed=500)
            running = asyncio.create_task(clock.run())
            yield memory
            await self.settle(memory)
            running.cancel()

    async def until(self, memory: Memory, at: datetime) -> None:
        """Let time pass, minute by minute, and what is due ring."""
        while self.at.astimezone(UTC) < at.astimezone(UTC):
            self.at = (self.at.astimezone(UTC) + timedelta(minutes=1)).astimezone(at.tzinfo)
            now = round(self.at.timestamp() * 1000)
            if await self.reminders.due(now, None, "*"):
                await self.settle(memory)

    async def settle(self, memory: Memory) -> None:
        """Wait until nothing more rings."""
        for _ in range(2):
            self.reminders.changed.set()
            await asyncio.sleep(0.03)

    async def _deliver(self, ring: Ring) -> None:
        self.before(ring)
        self.rings.append(ring)


async def set_reminder(
    reminders: Reminders, text: str, when: str, *, user: str = "ann", thread: str = "ann"
) -> Reminder:
    """Set a reminder as the tool does, with a call of its own."""
    named = moment(when, "en", datetime.fromtimestamp(reminders.now(), UTC), BERLIN)
    assert named is not None
    return await reminders.add(user, thread, f"{text}-{when}", text=text, lang="en", moment=named)


def texts(room: Room) -> list[str]:
    """Return what rang."""
    return [ring.text for ring in room.rings]
