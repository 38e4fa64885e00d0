"""Hold the conversations of `docs/transcripts.md` again: `python -m tests.support.transcripts`.

Each line of the page behind "> " is typed at a pseudo-terminal; an empty one leaves. A line "── 10:00" sets the clock,
which else stands still. What was on the screen takes the place of what stood there.

Where the page names a model of openai, a script answers over HTTP; "erring" fails in every tenth call.
"""

import asyncio
import json
import re
import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.support.clocked_app import set_clock
from tests.support.odd_provider import HEAD, Provider, Reply, call, refuse, words
from tests.support.places import ROOT
from tests.support.pseudo_terminal import PROMPT, Terminal

PAGE = ROOT / "docs" / "transcripts.md"
BLOCK = re.compile(r"```\n(.*?)\n```", re.DOTALL)
MODEL = re.compile(r"(?:local|openai):\w+")
HOUR = re.compile(r"── (\d\d):(\d\d)")
MONDAY = datetime(2026, 11, 23, 7, 30, tzinfo=UTC)
COLUMNS, ROWS = 96, 400
LEAVE, RING = "\x04", "⏰"
Line = str | tuple[str, dict[str, Any]]
"""What the scripted model says: words, or a tool's name with arguments."""
SAID: dict[str, Sequence[Line]] = {}
VOTES: dict[str, str] = {}
"""What the observers say, where it is not "stay"."""


@dataclass
class ScriptedModel:
    """Answers with the lines for what was typed last. Where it errs, a tenth call fails and leaves its line."""

    errs: bool
    lines: list[Line] = field(default_factory=list)
    vote: str = "stay"
    calls: int = 0

    def hears(self, text: str) -> None:
        """Take the lines that answer a text."""
        self.lines, self.vote = [*SAID.get(text, ())], VOTES.get(text, "stay")

    def answer(self, body: dict[str, Any]) -> Reply:
        """Return the next line. The tenth call is refused, the twentieth breaks off in the middle, and so on."""
        self.calls += 1
        if self.errs and self.calls % 20 == 10:
            return refuse(500, {"message": "overloaded"})
        speaks = bool(body.get("tools"))
        line = self.lines[0] if speaks else self.vote
        chunks = words(line) if isinstance(line, str) else call(line[0], json.dumps(line[1]), f"call{self.calls}")
        if self.errs and self.calls % 20 == 0:
            return HEAD + b"".join(f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks[:2])
        if speaks:
            self.lines.pop(0)
        return chunks


@dataclass
class Talk:
    """A conversation at a terminal, perhaps in several visits, on a database and a clock of its own."""

    folder: Path
    script: ScriptedModel
    settings: dict[str, str]
    now: datetime = MONDAY
    shown: list[str] = field(default_factory=list)
    """The screens of the visits that are over."""

    def visit(self, lines: list[str]) -> None:
        """Type lines up to the one that leaves, and keep what is on the screen."""
        set_clock(self.folder / "clock", self.now.timestamp())
        program = ("-m", "tests.support.clocked_app", str(self.folder / "clock"), "chat")
        self.script.hears("")
        hours: list[tuple[int, str]] = []
        with closing(Terminal(self.folder, *program, columns=COLUMNS, rows=ROWS, **self.settings)) as terminal:
            terminal.wait_for(PROMPT, within=60)
            while lines:
                line = lines.pop(0)
                if hour := HOUR.fullmatch(line):
                    hours.append((len(terminal.text.splitlines()) - 1, line))
                    self._move(hour)
                elif line == RING:
                    terminal.wait_for(RING)
                else:
                    self.script.hears(line)
                    terminal.type(f"{line}\r" if line != LEAVE else LEAVE)
                    if line == LEAVE:
                        break
                    terminal.wait_for(PROMPT, within=60)
            terminal.ends()
            screen = terminal.text.splitlines()
        for row, line in reversed(hours):
            screen[row:row] = [line, ""]
        self.shown.append("\n".join(screen))

    def wait(self, line: str) -> None:
        """Let time pass between two visits."""
        hour = HOUR.fullmatch(line)
        assert hour is not None, line
        self._move(hour)
        self.shown.append(line)

    def _move(self, hour: re.Match[str]) -> None:
        self.now = self.now.replace(hour=int(hour[1]), minute=int(hour[2])) + timedelta(
            days=(int(hour[1]), int(hour[2])) < (self.now.hour, self.now.minute)
        )
        set_clock(self.folder / "clock", self.now.timestamp())


def typed(block: str) -> list[str]:
    """Return what is done in a conversation of the page: texts, hours, the key that leaves, rings that are waited for."""
    lines: list[str] = []
    for line in block.splitlines():
        if line == ">":
            lines.append(LEAVE)
        elif line.startswith("> ") or HOUR.fullmatch(line):
            lines.append(line.removeprefix("> "))
        elif line.startswith(RING) and lines and HOUR.fullmatch(lines[-1]) and LEAVE not in lines[-2:-1]:
            lines.append(RING)
    return lines if lines[-1] == LEAVE else [*lines, LEAVE]


def hold(block: str, script: ScriptedModel, settings: dict[str, str]) -> str:
    """Hold a conversation of the page again; return what was on the screen."""
    lines = typed(block)
    with tempfile.TemporaryDirectory() as folder:
        talk = Talk(Path(folder), script, settings)
        while lines:
            if talk.shown:
                talk.wait(lines.pop(0))
            talk.visit(lines)
    return "\n".join(talk.shown)


async def held(block: str) -> str:
    """Hold a conversation of the page again, with the model and in the language that it names."""
    model = MODEL.search(block)
    assert model is not None, block
    script = ScriptedModel(errs=model[0].endswith("erring"))
    async with Provider.open(script.answer) as provider:
        server = {"LLM_MODEL": model[0], "OPENAI_BASE_URL": provider.url, "OPENAI_API_KEY": "key"}
        lang = "ru" if "беседа" in block else "en"
        return await asyncio.to_thread(hold, block, script, {**server, "APP_LANG": lang})


def main() -> None:
    """Write the page anew."""
    page = PAGE.read_text("utf-8")
    PAGE.write_text(BLOCK.sub(lambda block: f"```\n{asyncio.run(held(block[1]))}\n```", page), "utf-8")


if __name__ == "__main__":
    main()
