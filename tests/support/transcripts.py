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
"""A line of the scripted model: words, or a tool's name with arguments."""
SAID: dict[str, Sequence[Line]] = {
    "": ["How can I help?"],
    "hello": ["Hello! What can I do for you today?"],
    "please plan my day with me": [("plan_things", {"brief": "plan the day"}), "What is on today?"],
    "dentist at 10, groceries, and the kids at 3:30": [
        ("plan_day", {"plan": "dentist at 10, groceries, pick up the kids at 3:30 pm"}),
        "That is your day.",
    ],
    "put butter and jam on it": [("add_todos", {"items": ["butter", "jam"]}), "Butter and jam are on your list."],
    "what is on my list now": [("list_todos", {}), "These three."],
    "what did I buy lately": [("list_orders", {}), "These four."],
    "cancel the rain jacket order": [
        ("cancel_pending_order", {"order_id": "D1003", "reason": "no longer needed"}),
        "It is cancelled, and the money is on its way.",
    ],
    "yes": ["Done."],
    "back to the planner, plan my day": ["What is on today?"],
    "delete everything on my list": [("delete_todos", {"numbers": [1, 2, 3]}), "Your list is empty."],
    "what is the weather like": ["I cannot see the weather, I am afraid."],
    "thanks": ["You are welcome!"],
    "How do reminders work here, and where is what I tell you kept?": [
        ("look_things_up", {"brief": "reminders, and where data is kept"}),
        ("search", {"queries": ["reminders", "your data", "to-dos"]}),
        "A reminder is set by saying it, as in “remind me in 20 minutes” [source=[0]]. What you tell me stays in a "
        "database file on your machine [source=[1, 9]]. I would guess that it is backed up with your home folder.",
    ],
    "Where exactly does that stand?": [
        "That is what the page on your data says [source=[1]]; I know of no other place."
    ],
}
VOTES = {"what did I buy lately": "orders", "back to the planner, plan my day": "planner"}
"""The observers' verdicts other than "stay"."""


@dataclass
class ScriptedModel:
    """A model that answers the last typed text. If it errs, every tenth call fails and leaves its line for the next."""

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
        offered = {tool["function"]["name"] for tool in body.get("tools", ())}
        line = self.lines[0] if offered else self.vote
        if self.vote != "stay" and not isinstance(line, str) and line[0] not in offered:
            # This is a draft of the speaker that loses the conversation.
            return words("One moment.")
        chunks = words(line) if isinstance(line, str) else call(line[0], json.dumps(line[1]), f"call{self.calls}")
        if self.errs and self.calls % 20 == 0:
            return HEAD + b"".join(f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks[:2])
        if offered:
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
    """The screens of the finished visits."""

    def visit(self, lines: list[str]) -> None:
        """Type lines up to the one that leaves, and keep the screen."""
        set_clock(self.folder / "clock", self.now.timestamp())
        program = ("-m", "tests.support.clocked_app", str(self.folder / "clock"), "chat")
        self.script.hears("")
        hours: list[tuple[int, str]] = []
        with closing(Terminal(self.folder, *program, columns=COLUMNS, rows=ROWS, **self.settings)) as terminal:
            wait_for_prompt(terminal)
            while lines:
                line = lines.pop(0)
                if hour := HOUR.fullmatch(line):
                    prompts = (row for row, text in enumerate(terminal.text.splitlines()) if text.startswith(">"))
                    hours.append((max(prompts), line))
                    self._move(hour)
                elif line.startswith(RING):
                    terminal.sees(line)
                elif line == LEAVE:
                    terminal.type(LEAVE)
                    break
                else:
                    self.script.hears(line)
                    terminal.written = ""
                    terminal.type(f"{line}\r")
                    wait_for_prompt(terminal)
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


def wait_for_prompt(terminal: Terminal) -> None:
    """Wait until a line may be typed."""
    terminal.wait_for(PROMPT)
    terminal.wait_for("> ")


def typed(block: str) -> list[str]:
    """Return the user's actions in a conversation of the page: texts, hours, the key that leaves, awaited rings."""
    lines: list[str] = []
    for line in block.splitlines():
        if line == ">":
            lines.append(LEAVE)
        elif line.startswith("> ") or HOUR.fullmatch(line):
            lines.append(line.removeprefix("> "))
        elif line.startswith(RING):
            lines.append(line.partition(" (")[0])
    return lines if lines[-1] == LEAVE else [*lines, LEAVE]


def hold(block: str, script: ScriptedModel, settings: dict[str, str]) -> str:
    """Hold a conversation of the page again; return the screen."""
    lines = typed(block)
    with tempfile.TemporaryDirectory() as folder:
        talk = Talk(Path(folder), script, settings)
        while lines:
            if talk.shown:
                talk.wait(lines.pop(0))
            talk.visit(lines)
    return "\n\n".join(talk.shown)


async def held(block: str) -> str:
    """Hold a conversation of the page again, with its model and in its language."""
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
