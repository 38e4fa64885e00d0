"""Draw the screenshots of the README: `python -m tests.support.screenshots` plays each on a pseudo-terminal."""

import re
import sys
import tempfile
from collections.abc import Callable
from io import StringIO
from itertools import groupby
from pathlib import Path

from pyte.screens import Char
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.color import ANSI_COLOR_NAMES
from rich.console import Console
from rich.style import Style
from rich.text import Text

from tests.support.places import ROOT
from tests.support.pseudo_terminal import PROMPT, Terminal

FOLDER = ROOT / "docs" / "screens"
COLUMNS = 92
TITLE = "Dialog Supervisor"


def main(folder: Path) -> None:
    """Write every screenshot into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, (rows, play) in PLAYS.items():
        with tempfile.TemporaryDirectory() as scratch:
            terminal = Terminal(Path(scratch), "chat", columns=COLUMNS, rows=rows)
            try:
                play(terminal)
                (folder / f"{name}.svg").write_text(drawn(terminal, name), "utf-8")
            finally:
                terminal.close()


def drawn(terminal: Terminal, name: str) -> str:
    """Return the screen as an SVG without outside resources."""
    console = Console(file=StringIO(), record=True, width=terminal.screen.columns, height=terminal.screen.lines)
    for row in range(terminal.screen.lines):
        cells = [terminal.screen.buffer[row][column] for column in range(terminal.screen.columns)]
        runs = groupby(cells, _style)
        console.print(Text.assemble(*(("".join(cell.data for cell in run), style) for style, run in runs)))
    # Rich's drawing loads its font from another site; any fixed-width font is good enough.
    own = re.sub(r"@font-face \{\{.*?\}\}\s*|<!--.*?-->\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    return console.export_svg(title=TITLE, code_format=own, unique_id=name)


def _style(cell: Char) -> Style:
    return Style(
        color=_color(cell.fg),
        bgcolor=_color(cell.bg),
        bold=cell.bold,
        italic=cell.italics,
        underline=cell.underscore,
        reverse=cell.reverse,
    )


def _color(name: str) -> str | None:
    if name == "default":
        return None
    name = name.replace("bright", "bright_").replace("brown", "yellow")
    return name if name in ANSI_COLOR_NAMES else f"#{name}"


def _say(terminal: Terminal, *messages: str) -> None:
    for message in messages:
        terminal.wait_for(PROMPT)
        terminal.type(f"{message}\r")
    terminal.wait_for(PROMPT)
    terminal.wait_for("thread me ")


def take_over(terminal: Terminal) -> None:
    """Show a take-over, a switch and the way back."""
    _say(
        terminal,
        "let's get acquainted",
        "I am a nurse, I know first aid and Spanish",
        "put milk and bread on my list",
        "no, go on",
    )


def completion(terminal: Terminal) -> None:
    """Show the menu of commands."""
    _say(terminal, "yes please")
    terminal.type("/")
    terminal.sees("/today")


def trace(terminal: Terminal) -> None:
    """Show the trace of a turn."""
    _say(terminal, "yes please", "/trace", "remind me tomorrow at 9 to call the clinic")


PLAYS: dict[str, tuple[int, Callable[[Terminal], None]]] = {
    "take-over": (32, take_over),
    "completion": (24, completion),
    "trace": (34, trace),
}

if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
