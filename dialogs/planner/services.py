"""What the planner's tools work with."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from agents.memory import Memory
from agents.toolkit.services import Services
from dialogs.planner.store import KeptAlarms, Reminders


@asynccontextmanager
async def open_services(services: Services) -> AsyncIterator[Sequence[object]]:
    """Yield the table of reminders, and the alarms for other dialogs."""
    memory = services.get(Memory)
    reminders = Reminders(memory.database, memory.store, memory.now)
    yield [reminders, KeptAlarms(reminders)]
