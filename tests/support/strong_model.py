"""Hold the conversations of `docs/strong-model.md` again: `python -m tests.support.strong_model`.

Each file of `tests/doors/http/strong_model` is a conversation: what the user types, and what a language model says and
calls as each of its roles. The application is a process that serves HTTP; its models are a server here, asked in the
OpenAI form. What the user sees takes the place of what stood on the page.

    ── 2026-11-26 23:40                 sets the clock
    > how long is it?                   the user types
    player reads: Steamboat Willie      the prompt of the role's next reply must hold this (reads no: must not)
    player calls: show_title {…}        the role's next reply; "+ tool {…}" below it is one more call of that reply
    player: Eight minutes.              another reply
    40 > And the number {n}?            the same, so many times

An observer without a line says "stay". A speaker without a line, or with a prompt that does not hold what it must, says
DRAFT: this is what drafts are that begin before an observer has said who shall answer. No user may see one.
"""

import asyncio
import json
import os
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx

from tests.support.clocked_app import set_clock
from tests.support.http_door import streamed
from tests.support.loopback import free_port
from tests.support.odd_provider import Chunk, Provider, delta, end
from tests.support.places import ROOT
from tests.support.until import until_answered

PAGE, TALKS = ROOT / "docs" / "strong-model.md", ROOT / "tests" / "doors" / "http" / "strong_model"
BLOCK = re.compile(r"<!-- (\w+) -->\n```\n.*?\n```", re.DOTALL)
LINE = re.compile(r"(\w+)( reads no| reads| calls)?: (.*)")
SPEAKERS = ("supervisor", "profile", "planner", "player", "orders", "recall", "research")
DRAFT = "One moment, please."
USER, CUSTOMER = "ann", "ann_berg_1001"
SETUP = (
    ("orders", "match", USER, CUSTOMER),
    ("library", "viewer", USER, "me"),
    ("index", "add", str(TALKS / "documents")),
)
"""Commands that give the user orders, a player and documents."""


@dataclass
class Reply:
    """A role's reply with its calls, and the texts that its prompt must contain and must not contain."""

    text: str = ""
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    reads: list[str] = field(default_factory=list)
    reads_no: list[str] = field(default_factory=list)

    def fits(self, prompt: str) -> bool:
        """Tell whether a prompt contains all required texts and no forbidden one."""
        return all(text in prompt for text in self.reads) and not any(text in prompt for text in self.reads_no)

    def chunks(self, number: int) -> list[Chunk]:
        """Return the reply as a stream."""
        pieces = re.findall(r"\S+\s*", self.text)
        calls = [
            {"index": place, "id": f"call{number}-{place}", "type": "function", "function": {"name": name}}
            for place, (name, _) in enumerate(self.calls)
        ]
        for call, (name, args) in zip(calls, self.calls, strict=True):
            call["function"] = {"name": name, "arguments": json.dumps(args, ensure_ascii=False)}
        return [
            delta(role="assistant", content=""),
            *(delta(content=piece) for piece in pieces),
            *(delta(tool_calls=[call]) for call in calls),
            end("tool_calls" if calls else "stop"),
        ]


@dataclass
class Said:
    """A user's line: its text, repetitions and time, and the replies of each role."""

    text: str
    times: int = 1
    clock: str = ""
    replies: dict[str, list[Reply]] = field(default_factory=lambda: defaultdict(list))


def read(script: str) -> list[Said]:
    """Return the turns of a conversation."""
    turns, clock = list[Said](), ""
    # Some replies have only a description of the prompt so far.
    begun, reply = defaultdict[str, Reply](Reply), Reply()
    for line in script.splitlines():
        if line.startswith("── "):
            clock = line.removeprefix("── ")
        elif typed := re.fullmatch(r"(\d+ )?>(.*)", line):
            turns.append(Said(typed[2].strip(), int(typed[1] or 1), clock))
            clock = ""
        elif line.startswith("+ "):
            reply.calls.append(_call(line.removeprefix("+ ")))
        elif parts := LINE.fullmatch(line):
            role, kind, rest = parts.groups()
            if kind in (" reads", " reads no"):
                (begun[role].reads if kind == " reads" else begun[role].reads_no).append(rest)
                continue
            reply = begun.pop(role, Reply())
            if kind:
                reply.calls.append(_call(rest))
            else:
                reply.text = rest.replace("\\n", "\n")
            turns[-1].replies[role].append(reply)
        else:
            assert not line or line.startswith("#"), line
    return turns


def _call(text: str) -> tuple[str, dict[str, Any]]:
    name, _, args = text.partition(" ")
    return name, json.loads(args or "{}")


@dataclass
class StrongModel:
    """A model that answers in the role of each request; it notes missing parts of prompts, and unused replies."""

    replies: dict[str, list[Reply]] = field(default_factory=dict)
    calls: int = 0
    """The number of requests."""
    faults: list[str] = field(default_factory=list)

    def hears(self, said: Said) -> None:
        """Take the replies to the next line."""
        self.replies = {role: [*replies] for role, replies in said.replies.items()}

    def is_through(self, text: str) -> None:
        """Note the unused replies, and those without the required prompt."""
        self.faults += [
            f"{text!r}: {role} did not say {reply}" for role in self.replies for reply in self.replies[role]
        ]

    def answer(self, body: dict[str, Any]) -> list[Chunk]:
        """Return the next reply of a role."""
        role, self.calls = body["model"], self.calls + 1
        if not body.get("tools") and role in SPEAKERS:
            role = "summary"
        prompt = "\n".join(str(message.get("content")) for message in body["messages"])
        prompt += json.dumps(body.get("tools"), ensure_ascii=False)
        if not (replies := self.replies.get(role)) or not replies[0].fits(prompt):
            # This is a draft beside an observer, which the user does not see; or a fault, which is told below.
            return Reply({"observer": "stay", "summary": "They talked."}.get(role, DRAFT)).chunks(self.calls)
        return replies.pop(0).chunks(self.calls)


@dataclass
class Visit:
    """The user, in a conversation of their own."""

    client: httpx.AsyncClient
    model: StrongModel
    clock: Path
    thread: str
    lines: list[str] = field(default_factory=list)
    """The lines on the screen."""

    async def says(self, said: Said) -> None:
        """Play a turn, or the same turn many times; then the screen shows the last one alone."""
        if said.clock:
            set_clock(self.clock, datetime.fromisoformat(said.clock).replace(tzinfo=UTC).timestamp())
            self.lines += [f"── {said.clock}", ""]
        for number in range(1, said.times + 1):
            text = said.text.replace("{n}", str(number))
            self.model.hears(said)
            asked = {"text": text or None, "user": USER}
            events = await streamed(self.client, f"/threads/{self.thread}/turns", asked)
            self.model.is_through(text)
            shown = [event for event in events if event["type"] in ("message", "error")]
            if any(DRAFT in event["text"] for event in shown) or (said.replies and not shown):
                self.model.faults.append(f"{text!r}: {events}")
            if 1 < number < said.times:
                continue
            self.lines += [f"(and so on, {said.times} times)", ""] if number == said.times > 1 else []
            self.lines += [f"> {text}"] if text else []
            speaker = "supervisor"
            for event in shown:
                named = event.get("speaker") or speaker
                self.lines += [f"[{named}]"] if named != speaker else []
                self.lines.append(event["text"])
                speaker = named
            self.lines.append("")


@asynccontextmanager
async def served(folder: Path, model: str) -> AsyncIterator[str]:
    """Serve the application in a process of its own, on a clock of its own; yield its address."""
    port = free_port()
    roles = ",".join(f"{role}=openai:{role}" for role in SPEAKERS)
    settings = {
        **{"LLM_MODEL": "openai:strong", "ROLE_MODELS": roles, "OBSERVER_MODEL": "openai:observer"},
        **{"OPENAI_BASE_URL": model, "OPENAI_API_KEY": "key", "APP_LANG": "en"},
        "DATABASE_URL": f"sqlite:///{folder / 'talks.db'}",
    }
    environment = {**os.environ, **settings}
    set_clock(folder / "clock", 0)
    for command in SETUP:
        setting = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "app", *command), cwd=ROOT, env=environment, stdout=asyncio.subprocess.DEVNULL
        )
        assert await setting.wait() == 0, command
    program = ("-m", "tests.support.clocked_app", str(folder / "clock"), "serve", "--port", str(port))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, *program), cwd=ROOT, env=environment, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        await until_answered(f"http://127.0.0.1:{port}/readyz", process)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        await process.wait()


async def hold(names: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Hold conversations; return the screen of each, and the faults that their models found."""
    model, screens = StrongModel(), dict[str, str]()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        async with (
            Provider.open(model.answer) as provider,
            served(folder, provider.url) as url,
            httpx.AsyncClient(base_url=url, timeout=120) as client,
        ):
            for name in names:
                visit = Visit(client, model, folder / "clock", name)
                for said in read((TALKS / f"{name}.txt").read_text("utf-8")):
                    await visit.says(said)
                screens[name] = "\n".join(visit.lines).strip()
    return screens, model.faults


def published(page: str, screens: dict[str, str]) -> str:
    """Return the page with the new screens."""
    return BLOCK.sub(lambda block: f"<!-- {block[1]} -->\n```\n{screens[block[1]]}\n```", page)


def main() -> None:
    """Write the page anew, and print the models' faults; with names, print these conversations only."""
    page = PAGE.read_text("utf-8")
    screens, faults = asyncio.run(hold(sys.argv[1:] or BLOCK.findall(page)))
    if sys.argv[1:]:
        sys.stdout.write("\n\n".join(screens.values()) + "\n")
    else:
        PAGE.write_text(published(page, screens), "utf-8")
    sys.exit("\n".join(faults) or 0)


if __name__ == "__main__":
    main()
