"""Card files: change one without touching its other lines, and never leave a broken one behind."""

import asyncio
import os
import re
import shlex
import signal
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agents.errors import ConfigError, UsageError
from agents.toolkit.card import text_faults
from app.files import replace_file
from app.signals import on_signal
from prompts import card

EDITORS = ("VISUAL", "EDITOR")


@dataclass(frozen=True)
class CardFile:
    """The card file of a tool in a language: `slots` are what its examples may have in braces."""

    path: Path
    slots: Sequence[str]

    @property
    def text(self) -> str:
        """What the file says; empty when there is none. Raises ConfigError when it cannot be read."""
        try:
            return self.path.read_text("utf-8") if self.path.exists() else ""
        except (OSError, UnicodeDecodeError) as fault:
            raise ConfigError(f"{self.path}: {fault}") from None

    def replace(self, text: str) -> bool:
        """Write the whole file at once; return False if that is what it said before.

        Raises:
            UsageError: the text is no card; nothing was written.
            ConfigError: the file cannot be written.
        """
        if text == self.text:
            return False
        if problems := text_faults(text, self.slots):
            raise UsageError(problems[0])
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(self.path, text)
        except OSError as fault:
            raise ConfigError(f"{self.path}: {fault.strerror or fault}") from None
        card.cache_clear()
        return True


def changed(text: str, description: str | None, added: Sequence[str], removed: Sequence[str]) -> str:
    """Return a card's text with another description (None: the same), fewer and more examples.

    Raises:
        UsageError: an example that shall be removed is not there, or the description looks like one.
    """
    if description and re.search("^ *-", description, re.MULTILINE):
        raise UsageError("no line of a description may begin with a dash: such a line is an example")
    lines = text.splitlines()
    first = next((place for place, line in enumerate(lines) if line.startswith("- ")), len(lines))
    above, examples = lines[:first], lines[first:]
    if description is not None:
        above = [line.strip() for line in description.strip().splitlines()]
        above += [""] if above and (examples or added) else []
    elif any(above) and above[-1] and not examples and added:
        above = [*above, ""]
    for example in removed:
        place = next((place for place, line in enumerate(examples) if line[2:].strip() == example.strip()), None)
        if place is None:
            raise UsageError(f"there is no example {example!r}")
        del examples[place]
    examples += [f"- {' '.join(example.split())}" for example in added]
    return "".join(f"{line}\n" for line in [*above, *examples])


async def edited(file: CardFile) -> bool:
    """Let a person change a card in their editor; return False if they left it as it was.

    Raises:
        UsageError: no editor is set or it failed, or what was written is no card; the draft is kept then.
    """
    command = next((os.environ[name] for name in EDITORS if os.environ.get(name)), "")
    if not command:
        raise UsageError(f"set {EDITORS[1]}, or say what to change (see --help)")
    handle, name = tempfile.mkstemp(prefix=f"{file.path.stem}-", suffix=".md")
    with os.fdopen(handle, "w", encoding="utf-8") as draft:
        draft.write(file.text)
    try:
        await _run(command, name)
        return _taken(file, Path(name))
    except (OSError, ValueError) as fault:
        raise UsageError(f"{fault} (your draft: {name})") from None


async def _run(command: str, draft: str) -> None:
    # Ctrl-C is for the editor, and must not end the command that waits for it.
    with on_signal(signal.SIGINT, lambda: None):
        code = await (await asyncio.create_subprocess_exec(*shlex.split(command), draft)).wait()
    if code:
        raise UsageError(f"{command} ended with code {code}")


def _taken(file: CardFile, draft: Path) -> bool:
    is_changed = file.replace(draft.read_text("utf-8"))
    draft.unlink()
    return is_changed
