"""Visits at a terminal, made like those of the command line."""

from prompt_toolkit.history import History
from prompt_toolkit.input import Input
from prompt_toolkit.output import Output
from rich.console import Console

from app.assistant import Assistant
from app.doors.terminal.door import TerminalDoor
from app.doors.terminal.live_markdown import LiveMarkdown
from app.doors.terminal.repl import Repl
from app.doors.visit import Screen, Visit


def visit_to(assistant: Assistant, thread: str, *screens: Screen) -> Visit:
    """Return a visit that shows its turns on these screens."""
    return Visit(assistant, TerminalDoor(assistant, screens), thread)


def repl_for(
    assistant: Assistant, thread: str, console: Console, history: History, terminal: tuple[Input, Output]
) -> tuple[Repl, Visit]:
    """Return a REPL in English, and its visit."""
    screen = LiveMarkdown(console, "en")
    visit = visit_to(assistant, thread, screen)
    return Repl(visit, screen, console=console, history=history, terminal=terminal), visit
