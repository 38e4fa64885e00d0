"""`demo`: play a conversation that shows what the assistant can do; only the user's words are prepared."""

import asyncio
import tempfile
from argparse import Namespace
from pathlib import Path

from rich.console import Console
from rich.text import Text

from agents.events import Event, Message
from app.cli.talk import RULES, WIDE
from app.composition import open_assistant
from app.logs import log_on_stderr
from app.settings import Settings
from app.terminal.door import TerminalDoor
from app.terminal.screens import LiveMarkdown
from app.terminal.trace_tree import TraceTree
from app.visit import INTERRUPTED, WAITING, Screen, Visit
from prompts import table

THREAD = "demo"
KEY = 0.03
"""Seconds between two keys."""
READING = 0.025
"""Seconds a reader takes for a character."""
GLANCE = 1.0
"""Seconds an answer stands at least before the talk goes on."""


async def demo(options: Namespace, settings: Settings) -> int:
    """Play the conversation of the language; return the code of the turn that went wrong, if one did."""
    lang = options.lang or settings.app_lang
    console = Console(highlight=False)
    play = table("demo", lang)
    console.print(Text(play["opening"], "dim"), end="\n\n")
    with log_on_stderr(detailed=False, content=False), tempfile.TemporaryDirectory() as folder:
        async with open_assistant(_alone(settings, folder)) as assistant:
            trace = Console(stderr=True, highlight=False, width=None if console.is_terminal else WIDE)
            heard = _Heard()
            screens: list[Screen] = [LiveMarkdown(console, lang), heard]
            door = TerminalDoor(assistant, screens, TraceTree(trace), is_traced=options.trace)
            visit = Visit(assistant, door, THREAD, lang=lang)
            pace = READING if console.is_terminal and not options.fast else 0
            code = await _play(play["steps"], visit, console, heard, pace)
    if not code:
        console.print(Text(play["closing"], "dim"))
    return code


class _Heard(Screen):
    """A screen that counts how much there is to read."""

    length = 0

    def show(self, event: Event) -> None:
        """Count what is said."""
        self.length += len(event.text) if isinstance(event, Message) else 0


async def _play(steps: list[dict[str, str]], visit: Visit, console: Console, heard: _Heard, pace: float) -> int:
    """Play the steps; `pace` is the seconds a reader takes for a character."""
    code = 0
    for step in steps:
        console.print(Text(f"── {step['shows']}", "yellow"))
        await asyncio.sleep(pace * len(step["shows"]))
        await _type(step.get("says"), console, KEY if pace else 0)
        heard.length = 0
        ended = await visit.play(visit.turn(step.get("says")))
        if ended == INTERRUPTED:
            return ended
        code = ended if ended not in (0, WAITING) else code
        await asyncio.sleep(max(GLANCE, pace * heard.length) if pace else 0)
    return code


async def _type(text: str | None, console: Console, pace: float) -> None:
    """Show how the user types."""
    if text is None:
        return
    console.print(Text("> ", "bold green"), end="")
    for char in text:
        console.file.write(char)
        console.file.flush()
        await asyncio.sleep(pace)
    console.print("\n")


def _alone(settings: Settings, folder: str) -> Settings:
    """Return the settings with a database that vanishes and the model that needs no key."""
    model: dict[str, object] = {"llm_model": RULES, "observer_model": None, "role_models": {}, "fallback_model": None}
    return settings.model_copy(update={**model, "database_url": f"sqlite:///{Path(folder) / 'demo.db'}"})
