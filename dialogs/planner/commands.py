"""`/today`, the greeting, and what is deleted and exported of a person."""

from collections.abc import Collection, Sequence
from datetime import UTC, datetime

from agents.language.schedule.wording import worded
from agents.memory import Memory
from agents.toolkit.commands import CommandCall, SlashCommand
from agents.toolkit.services import Services
from dialogs import Section
from dialogs.planner.agenda import stored_todos
from dialogs.planner.store import Reminders
from dialogs.planner.wording import said


async def _today(call: CommandCall) -> str:
    if call.is_shared:
        return said("today_private", call.lang)
    return (await call.services.get(Reminders).agenda(call.user, call.lang)).today().text()


today = SlashCommand(name="today", run=_today, description=lambda lang: said("today_command", lang), in_groups=False)


async def greeting(services: Services, user: str, lang: str) -> str:
    """Return a user's day; empty if nothing is on."""
    plans = await services.get(Reminders).agenda(user, lang)
    return plans.today().text() if plans.has_something_today() else ""


async def forget(services: Services, thread: str, users: Collection[str]) -> None:
    """Delete the reminders of a thread and of users; to-dos go with all that is kept of a user."""
    await services.get(Reminders).erase(thread, users)


async def export(services: Services, user: str, lang: str) -> Sequence[Section]:
    """Return a user's to-dos and reminders."""
    todos = [item.value for item in await stored_todos(services.get(Memory).store, user)]
    reminders, now = await services.get(Reminders).live(user), datetime.now(UTC)
    return [
        Section(
            key="todos",
            title=said("export_todos", lang),
            rows=todos,
            lines=[f"[{'x' if todo['done'] else ' '}] {todo['text']}" for todo in todos],
        ),
        Section(
            key="reminders",
            title=said("export_reminders", lang),
            rows=[
                {"text": it.text, "kind": it.kind, "at": it.moment.at.isoformat(), "rule": it.rule} for it in reminders
            ],
            lines=[f"{worded(it.moment, lang, now)}: {it.text}" for it in reminders],
        ),
    ]
