"""The user's to-dos, reminders, alarms and timers."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from agents.memory import Memory
from agents.toolkit.services import Services
from dialogs import Dialog
from dialogs.planner.command_line import application
from dialogs.planner.commands import export, forget, greeting, today
from dialogs.planner.store import TABLES, KeptAlarms, Reminders
from dialogs.planner.tools import day, reminders, todos


@asynccontextmanager
async def _services(services: Services) -> AsyncIterator[Sequence[object]]:
    memory = services.get(Memory)
    reminders = Reminders(memory.database, memory.store, memory.now)
    yield [reminders, KeptAlarms(reminders)]


dialog = Dialog(
    tool="plan_things",
    description="Used for the user's to-dos, reminders, alarms, timers and time zone: adding, listing, changing, "
    "ticking off and deleting.",
    tools=[
        todos.add_todos,
        todos.list_todos,
        todos.change_todo,
        todos.delete_todos,
        todos.choose_todo,
        reminders.add_reminder,
        reminders.list_reminders,
        reminders.change_reminder,
        reminders.delete_reminders,
        reminders.choose_reminder,
        reminders.stop_timer,
        day.agenda,
        day.plan_day,
        day.set_time_zone,
    ],
    resume="never",
    tables=TABLES,
    services=_services,
    commands=[today],
    command_line=application,
    greeting=greeting,
    forget=forget,
    export=export,
)
