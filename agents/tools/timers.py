"""Timers and alarms as people stop them: by their kind, without saying which."""

from typing import Literal

from langchain_core.tools import tool

from agents.toolkit import Runtime, traits
from agents.toolkit.undo import begun
from agents.tools.kept_reminders import REMINDERS, chosen_of, delete, line_of, live_of
from prompts import phrase

Stopped = Literal["timer", "alarm"]


@traits(effect="write", repeatable=True, volatile=True, shortcut=True, undo=REMINDERS)
@tool
async def stop_timer(runtime: Runtime, which: Stopped = "timer") -> str:
    """Stop the timer or alarm; the user chooses of several."""
    lang, before = runtime.state["lang"], await begun(runtime, REMINDERS)
    running = [it for it in await live_of(runtime) if it.kind == which and it.due_ms is not None]
    if not before and not running:
        return phrase(f"{which}s_none", lang)
    # What an earlier try of this call was about to stop is settled.
    chosen = [it for it in running if it.added_by in before] if before else [chosen_of(running, runtime)]
    stopped = [line_of(it, runtime, hidden=runtime.context.is_shared) for it in await delete(chosen, runtime)]
    return phrase("stopped", lang, items="; ".join(stopped))
