"""A desk for tests of tools that write: payments outside of the database, notes inside of it."""

import sqlite3
from collections.abc import Awaitable, Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from langchain_core.tools import BaseTool, tool

from agents.events.views import Link
from agents.toolkit.context import Runtime
from agents.toolkit.result import Answer, result
from agents.toolkit.speaker import Speakers
from agents.toolkit.traits import traits
from tests.support.changed_speakers import changed

Step = Callable[[str], Awaitable[None]]


async def walk(step: str) -> None:
    """Do nothing at a step."""


class Desk:
    """A desk that pays to a file and notes in the database at `path`; it awaits `step` before and after each effect."""

    def __init__(self, path: Path, step: Step = walk) -> None:
        self.path, self.step = path, step
        self.refused = ""
        self.checked: list[dict[str, Any]] = []

    @property
    def paid(self) -> list[str]:
        """Return the payments."""
        file = self.path.with_suffix(".paid")
        return file.read_text("utf-8").splitlines() if file.exists() else []

    @property
    def noted(self) -> list[str]:
        """Return the notes."""
        with closing(sqlite3.connect(self.path)) as connection:
            if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'desk'").fetchall():
                return []
            return [text for (text,) in connection.execute("SELECT text FROM desk")]

    @property
    def ledger(self) -> list[tuple[str, bool]]:
        """Return the threads of the ledger's entries, and whether each entry has an outcome."""
        with closing(sqlite3.connect(self.path)) as connection:
            if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'ledger'").fetchall():
                return []
            return connection.execute("SELECT thread, outcome IS NOT NULL FROM ledger").fetchall()

    def with_desk(self, speakers: Speakers) -> Speakers:
        """Return the speakers, the planner with the tools of the desk."""
        return changed(speakers, "planner", tools=self.tools())

    async def check(self, args: Mapping[str, Any], runtime: Runtime) -> str | None:
        """Return the reason against a payment."""
        self.checked.append(dict(args))
        return self.refused or None

    def tools(self) -> list[BaseTool]:
        """Return the tools."""

        @traits(effect="write", key=("to", "amount"), result={"type": "object"}, check=self.check)
        @tool(response_format="content_and_artifact")
        async def pay(to: str, amount: int, runtime: Runtime, currency: str = "EUR") -> Answer:
            """Pay somebody."""
            await self.step("before pay")
            with self.path.with_suffix(".paid").open("a", encoding="utf-8") as file:
                file.write(f"{to} {amount} {currency}\n")
            await self.step("after pay")
            return result({"receipt": len(self.paid)}, view=Link(title="Receipt", url="https://bank.example/1"))

        @tool
        async def mail(text: str, runtime: Runtime) -> str:
            """Send a mail."""
            await self.step("before mail")
            with self.path.with_suffix(".paid").open("a", encoding="utf-8") as file:
                file.write(f"{text}\n")
            await self.step("after mail")
            return f"Sent: {text}."

        @traits(effect="write", key=("text",), transaction=True)
        @tool
        async def note(text: str, runtime: Runtime) -> str:
            """Take a note."""
            assert runtime.context.ledger is not None
            await self.step("before note")
            async with runtime.context.ledger.transaction() as connection:
                await connection.execute("CREATE TABLE IF NOT EXISTS desk (text TEXT)")
                await connection.execute("INSERT INTO desk VALUES (?)", (text,))
                await self.step("in note")
            await self.step("after note")
            return f"Noted: {text}."

        return [pay, traits(effect="write")(mail), note]
