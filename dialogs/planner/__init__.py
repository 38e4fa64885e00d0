"""The user's to-dos, notes, reminders, alarms and timers."""

from agents.memory import Memory
from dialogs import Dialog
from dialogs.planner.commands import export, forget, greeting, today
from dialogs.planner.store import TABLES, open_services
from dialogs.planner.tools import day, notes, reminders, todos

dialog = Dialog(
    tool="plan_things",
    description="Used for the user's to-dos, reminders, alarms, timers, notes and time zone: adding, listing, "
    "changing, ticking off and deleting.",
    tools=[
        todos.add_todos,
        todos.list_todos,
        todos.change_todo,
        todos.delete_todos,
        todos.choose_todo,
        reminders.add_reminder,
        reminders.list_reminders,
        reminders.change_reminder,
        reminders.skip_reminder,
        reminders.delete_reminders,
        reminders.choose_reminder,
        reminders.stop_timer,
        notes.keep_note,
        notes.find_notes,
        notes.list_notes,
        notes.delete_notes,
        day.agenda,
        day.plan_day,
        day.set_time_zone,
    ],
    resume="never",
    tables=TABLES,
    services=open_services,
    commands=[today],
    command_line="dialogs.planner.command_line",
    greeting=greeting,
    forget=forget,
    export=export,
    help={notes.NoteLink.name: lambda services: notes.NoteLink(services.get(Memory))},
)
