"""A database whose reminders ring as time is set."""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from agents.language.schedule.parser import moment
from agents.memory import Memory
from agents.memory.sqlite_file import SqliteBackend
from app.assistant.clocks import Clock, Ring
from app.composition import open_services, tables_of
from dialogs.planner import dialog
from dialogs.planner.records import Reminder
from dialogs.planner.store import Reminders
from tests.support.until import until

BERLIN = ZoneInfo("Europe/Berlin")
FRIDAY = datetime(2026, 11, 20, 10, tzinfo=BERLIN)


@asynccontextmanager
async def open_reminders(path: Path, now: Callable[[], float] = time.time) -> AsyncIterator[tuple[Memory, Reminders]]:
    """Open a database and its reminders."""
    planner = {"planner": dialog}
    async with (
        SqliteBackend(f"sqlite:///{path}").open(now, tables=tables_of(planner)) as memory,
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
            self._rung_by = user, threads
            ringing = Clock(memory, [self.reminders], self._deliver, user=user, threads=threads, speed=500)
            async with ringing as self.clock:
                yield memory
                await self.settle()

    async def until(self, memory: Memory, at: datetime) -> None:
        """Let time pass, minute by minute, and what is due ring."""
        while self.at.astimezone(UTC) < at.astimezone(UTC):
            self.at = (self.at.astimezone(UTC) + timedelta(minutes=1)).astimezone(at.tzinfo)
            if not await self._is_silent():
                await self.settle()

    async def settle(self) -> None:
        """Wait until nothing more rings."""
        await until(self._is_silent)

    async def until_waiting(self, number: int) -> None:
        """Wait until so many rings wait for their thread."""

        def are_waiting() -> bool:
            self.reminders.changed.set()
            return len(self.clock._ringing) == number

        await until(are_waiting)

    async def _is_silent(self) -> bool:
        self.reminders.changed.set()
        return await self.reminders.due(round(self.at.timestamp() * 1000), *self._rung_by) == []

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
    """Return the texts of the notices that rang."""
    return [ring.text for ring in room.rings]
