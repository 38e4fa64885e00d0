"""`demo`: play a conversation that shows the assistant's abilities; only the user's words are prepared."""

import asyncio
import os
import sys
import tempfile
import termios
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from rich.console import Console
from rich.text import Text

from agents.events import Event, Message
from app.cli.talk import RULES, TRACE_WIDTH
from app.composition import open_assistant
from app.doors.terminal.door import TerminalDoor
from app.doors.terminal.live_markdown import LiveMarkdown
from app.doors.terminal.trace_tree import TraceTree
from app.doors.terminal.tty import silent_keys
from app.doors.visit import Screen, Visit
from app.process.exit_codes import INTERRUPTED, WAITING
from app.process.logs import log_on_stderr
from app.process.tasks import wait_for_event
from app.settings import Settings, read_settings
from prompts import table

THREAD = "demo"
SECONDS_PER_KEY = 0.03
"""Seconds between two keys."""
SECONDS_PER_CHARACTER = 0.025
"""Seconds a reader takes for a character."""
LEAST_SECONDS = 1.0
"""The least seconds between an answer and the next message."""


async def demo(lang: str | None, *, is_traced: bool, fast: bool) -> int:
    """Play the conversation, at a terminal at a reader's pace unless it is to be `fast`; return the exit code."""
    settings = read_settings()
    lang = lang or settings.app_lang
    console = Console(highlight=False)
    play = table("first_steps/demo", lang)
    console.print(Text(play["opening"], "dim"), end="\n\n")
    pace = SECONDS_PER_CHARACTER if console.is_terminal and not fast else 0
    with log_on_stderr(detailed=False, content=False), tempfile.TemporaryDirectory() as folder:
        async with open_assistant(_alone(settings, folder)) as assistant, pressed_keys(sys.stdin) as key:
            width = None if console.is_terminal else TRACE_WIDTH
            tracer = TraceTree(Console(stderr=True, highlight=False, width=width))
            pause = _Pause(pace, key)
            door = TerminalDoor(assistant, [LiveMarkdown(console, lang), pause], tracer, is_traced=is_traced)
            if pace and sys.stdin.isatty():
                console.print(Text(play["keys"], "dim"), end="\n\n")
            code = await _play(play["steps"], Visit(assistant, door, THREAD, lang=lang), console, pause)
    if not code:
        console.print(Text(play["closing"], "dim"))
    return code


@asynccontextmanager
async def pressed_keys(stream: TextIO) -> AsyncIterator[asyncio.Event]:
    """Set the event at each key during the block, without an echo; Ctrl-C still interrupts. No terminal, no keys."""
    key, loop = asyncio.Event(), asyncio.get_running_loop()

    def read() -> None:
        os.read(stream.fileno(), 1024)
        key.set()

    with silent_keys(stream, termios.ECHO | termios.ICANON):
        if stream.isatty():
            loop.add_reader(stream, read)
        try:
            yield key
        finally:
            loop.remove_reader(stream)


@dataclass
class _Pause(Screen):
    """Waits for a reader, who may go on by a key; as a screen, it counts the characters to read."""

    pace: float
    """Seconds of a reader for a character; 0: no wait."""
    key: asyncio.Event
    length: int = 0

    def show(self, event: Event) -> None:
        """Count the characters of a message."""
        self.length += len(event.text) if isinstance(event, Message) else 0

    async def wait(self, seconds: float) -> None:
        """Wait until the time is over or a key is pressed."""
        if self.pace:
            await wait_for_event(self.key, seconds)

    def go_on(self) -> None:
        """Wait for new keys; earlier ones count no more."""
        self.key.clear()


async def _play(steps: list[dict[str, str]], visit: Visit, console: Console, pause: _Pause) -> int:
    """Play the steps; a key ends the wait for the reader, or the typing, of one step."""
    code = 0
    for step in steps:
        console.print(Text(f"── {step['shows']}", "yellow"))
        await pause.wait(pause.pace * len(step["shows"]))
        pause.go_on()
        await _type(step.get("says"), console, pause)
        pause.go_on()
        pause.length = 0
        ended = await visit.play(visit.turn(step.get("says")))
        if ended == INTERRUPTED:
            return ended
        code = ended if ended not in (0, WAITING) else code
        await pause.wait(max(LEAST_SECONDS, pause.pace * pause.length))
        pause.go_on()
    return code


async def _type(text: str | None, console: Console, pause: _Pause) -> None:
    if text is None:
        return
    console.print(Text("> ", "bold green"), end="")
    for char in text:
        console.file.write(char)
        console.file.flush()
        await pause.wait(SECONDS_PER_KEY)
    console.print("\n")


def _alone(settings: Settings, folder: str) -> Settings:
    """Return the settings with a temporary database and the model that needs no key."""
    model: dict[str, object] = {"llm_model": RULES, "observer_model": None, "role_models": {}, "fallback_model": None}
    return settings.model_copy(update={**model, "database_url": f"sqlite:///{Path(folder) / 'demo.db'}"})
