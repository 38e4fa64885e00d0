"""The user's to-dos, reminders, alarms and timers."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from agents.memory import Memory
from agents.toolkit.services import Services
from dialogs import Dialog
from dialogs.planner.command_line import application
from dialogs.planner.commands import export, forget, greeting, today
from dialogs.planner.day_tools import agenda, plan_day
from dialogs.planner.reminder_tools import (
    add_reminder,
    change_reminder,
    choose_reminder,
    delete_reminders,
    list_reminders,
    stop_timer,
)
from dialogs.planner.reminders import TABLES, KeptAlarms, Reminders
from dialogs.planner.time_zone import set_time_zone
from dialogs.planner.todo_tools import add_todos, change_todo, choose_todo, delete_todos, list_todos


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
    tables=TABLES,
    services=_services,
    commands=[today],
    command_line=application,
    greeting=greeting,
    forget=forget,
    export=export,
)
