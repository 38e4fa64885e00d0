"""Timers: reminders of nothing but that their time is up, which people stop without saying which."""

from langchain_core.tools import tool

from agents.memory.reminder_row import Reminder
from agents.schedule.wording import worded
from agents.toolkit import Runtime, traits
from agents.tools.reminders import REMINDERS, delete, reminders_of
from prompts import phrase


@traits(effect="write", repeatable=True, volatile=True, shortcut=True, undo=REMINDERS)
@tool
async def stop_timer(runtime: Runtime) -> str:
    """Stop the timer that is running; of several the user is told which there are."""
    lang, reminders = runtime.state["lang"], reminders_of(runtime)
    running = [timer for timer in await reminders.live(runtime.context.user) if _is_timer(timer)]
    if len(running) <= 1 and await delete(running, runtime):
        return phrase("timer_stopped", lang)
    # A timer has no text of its own, so that it may be named where others read along.
    lines = "\n".join(f"{timer.number}. {timer.text}: {worded(timer.moment, lang)}" for timer in running)
    return phrase("timers_several", lang, list=lines) if running else phrase("timers_none", lang)


def _is_timer(reminder: Reminder) -> bool:
    is_bare = reminder.text == phrase("reminder_time_is_up", reminder.lang)
    return is_bare and reminder.rule is None and reminder.due_ms is not None
