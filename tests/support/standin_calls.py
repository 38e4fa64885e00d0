"""People's sentences, with a model that makes a language model's calls for them: a test of the tools alone.

`calls.txt` has rows with calls: `text => its writes <= tool {arguments} | …`.

`python -m tests.support.standin_calls` says every row and prints the number of rows with the right writes.
"""

import asyncio
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage

from app.testing.script import Call, Line, Script
from tests.support.standin_table import Outcome, Row, rows, standin

YES = {"en": "yes", "ru": "да"}
OWNERS = {"change_language": "supervisor", "fill_form": "profile"}
"""The speaker of each tool outside the planner."""
ENTRIES = {"planner": "plan_things", "profile": "get_acquainted"}


@dataclass(frozen=True)
class Case:
    """A row, and the calls for its writes; they name an entry of a list by its text."""

    row: Row
    calls: tuple[Call, ...]


def cases(lang: str) -> list[Case]:
    """Return the rows of `calls.txt`."""
    return [_case(row) for row in rows("calls", lang)]


def _case(row: Row) -> Case:
    """Read a row with calls of its own; they stand after its writes."""
    *writes, last = row.writes
    named, _, calls = last.partition("<=")
    parts = (part.strip().partition(" ") for part in calls.split(" | "))
    expected = tuple(filter(None, (*writes, named.strip())))
    return Case(replace(row, writes=expected), tuple(Call(tool, json.loads(args)) for tool, _, args in parts))


class Calling(Script):
    """A model that makes the calls of a case: it goes to a tool's speaker, calls the tool, and ends with a word."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: list[Call] = []

    def next_line(self, role: str, messages: Sequence[BaseMessage]) -> Line:
        """Return this role's waiting calls, else the way to the next call's speaker, else a word."""
        owner = OWNERS.get(self.waiting[0].tool, "planner") if self.waiting else ""
        if role == "observer":
            return owner or "stay"
        if not owner:
            return "Done."
        if owner != role:
            return Call(ENTRIES[owner], {"brief": "-"}) if role == "supervisor" else Call("hand_back", {"wish": "-"})
        calls = [call for call in self.waiting if OWNERS.get(call.tool, "planner") == role]
        self.waiting = [call for call in self.waiting if call not in calls]
        return calls


async def outcomes(path: Path, lang: str, wanted: Sequence[Case]) -> list[Outcome]:
    """Say each case's text to a model that makes its calls; the words before it are said to `local:rules`."""
    script = Calling()
    async with standin(path, script.models(["supervisor", "observer", *ENTRIES])) as room:

        async def call(user: str, text: str) -> str:
            numbers = await room.numbers(user)
            # A tool with an answered question goes on by itself.
            is_asked = await room.asked(user) == "interrupt"
            script.waiting = [] if is_asked else [_numbered(call, numbers) for call in case.calls]
            reply = await room.say(user, text, lang, by_model=True)
            if await room.asked(user) == "confirm":
                reply += await room.say(user, YES[lang], lang, by_model=True)
            return reply

        results = []
        for case in wanted:
            results.append(await room.outcome(case.row, lang, call))
        return results


def _numbered(call: Call, numbers: Mapping[str, int]) -> Call:
    """Replace the texts of a list's entries by their numbers."""
    kind = "reminder" if "reminder" in call.tool else "to-do"

    def number(entry: object) -> object:
        return numbers.get(f"{kind} {entry}", entry)

    args: dict[str, Any] = dict(call.args)
    if "number" in args:
        args["number"] = number(args["number"])
    if isinstance(args.get("numbers"), list):
        args["numbers"] = [number(entry) for entry in args["numbers"]]
    return Call(call.tool, args)


async def _report() -> None:
    for lang in YES:
        with tempfile.TemporaryDirectory() as folder:
            results = await outcomes(Path(folder) / "said.db", lang, cases(lang))
        wrong = [outcome for outcome in results if not outcome.is_right]
        sys.stdout.write(f"{lang}: {len(results)} different calls, {len(wrong)} not as named\n")
        for outcome in wrong:
            sys.stdout.write(f"    {outcome.row.text}: {outcome.wrote} | {outcome.row.writes} | {outcome.reply}\n")


if __name__ == "__main__":
    asyncio.run(_report())
