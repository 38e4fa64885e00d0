"""`/today`, the greeting, and the deletion and export of a person's data."""

from collections.abc import Collection, Sequence
from datetime import UTC, datetime

from agents.memory import Memory
from agents.plugin import Section
from agents.toolkit.commands import CommandCall, SlashCommand
from agents.toolkit.services import Services
from dialogs.planner.agenda import stored_todos
from dialogs.planner.repeat_wording import worded
from dialogs.planner.store import Reminders
from dialogs.planner.wording import said


async def _today(call: CommandCall) -> str:
    return (await call.services.get(Reminders).agenda(call.user, call.lang)).today().text()


today = SlashCommand(name="today", run=_today, description=lambda lang: said("today_command", lang), in_groups=False)


async def greeting(services: Services, user: str, lang: str) -> str:
    """Return a user's day; empty if the day has nothing."""
    plans = await services.get(Reminders).agenda(user, lang)
    return plans.today().text() if plans.has_something_today() else ""


async def forget(services: Services, thread: str, users: Collection[str]) -> None:
    """Delete the reminders of a thread and of users; to-dos are deleted with the user's other items."""
    await services.get(Reminders).erase(thread, users)


async def export(services: Services, user: str, lang: str) -> Sequence[Section]:
    """Return a user's to-dos, notes and reminders."""
    store = services.get(Memory).store
    todos = [item.value for item in await stored_todos(store, user)]
    notes = [item.value for item in await stored_todos(store, user, "notes")]
    reminders, now = await services.get(Reminders).live(user), datetime.now(UTC)
    return [
        Section(
            key="todos",
            title=said("export_todos", lang),
            rows=todos,
            lines=[f"[{'x' if todo['done'] else ' '}] {todo['text']}" for todo in todos],
        ),
        Section(key="notes", title=said("export_notes", lang), rows=notes, lines=[str(note["text"]) for note in notes]),
        Section(
            key="reminders",
            title=said("export_reminders", lang),
            rows=[
                {"text": it.text, "kind": it.kind, "at": it.moment.at.isoformat(), "rule": it.rule} for it in reminders
            ],
            lines=[f"{worded(it.moment, lang, now)}: {it.text}" for it in reminders],
        ),
    ]
