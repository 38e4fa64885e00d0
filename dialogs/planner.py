"""The user's to-dos, reminders, alarms and timers."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from agents.memory import Memory
from agents.memory.reminders import Reminders
from agents.toolkit.alarms import Alarms
from agents.toolkit.services import Services
from agents.tools.agenda import agenda
from agents.tools.plan_day import plan_day
from agents.tools.reminders import add_reminder, change_reminder, choose_reminder, delete_reminders, list_reminders
from agents.tools.time_zone import set_time_zone
from agents.tools.timers import stop_timer
from agents.tools.todos import add_todos, change_todo, choose_todo, delete_todos, list_todos
from dialogs import Dialog


@dataclass(frozen=True)
class KeptAlarms(Alarms):
    """The alarms among the reminders."""

    reminders: Reminders

    async def texts(self, user: str) -> list[str]:
        """See `Alarms`."""
        return [reminder.text for reminder in await self.reminders.live(user) if reminder.kind == "alarm"]


@asynccontextmanager
async def open_alarms(services: Services) -> AsyncIterator[Sequence[object]]:
    """Yield the alarms, for other dialogs."""
    yield [KeptAlarms(services.get(Memory).reminders)]


dialog = Dialog(
    tool="plan_things",
    description="Used for the user's to-dos, reminders, alarms, timers and time zone: adding, listing, changing, "
    "ticking off and deleting.",
    tools=[
        add_todos,
        list_todos,
        change_todo,
        delete_todos,
        choose_todo,
        add_reminder,
        list_reminders,
        change_reminder,
        delete_reminders,
        choose_reminder,
        stop_timer,
        agenda,
        plan_day,
        set_time_zone,
    ],
    resume="never",
    services=open_alarms,
)
