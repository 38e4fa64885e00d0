"""Common parts of tests with several processes that are killed and frozen."""

import argparse
import asyncio
import json
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field

from agents.memory import Memory

FROZEN = 3.0
"""Seconds after which a process counts as frozen."""


@dataclass(frozen=True)
class Plan:
    """The plan of a run."""

    workers: int = 3
    threads: int = 24
    turns: int = 5
    kills: int = 15
    server_kills: int = 2
    freezes: int = 1
    seed: int = 1


@dataclass
class Outcome:
    """The outcome of a run; every list holds threads."""

    seconds: float = 0
    turns: int = 0
    faults: dict[str, int] = field(default_factory=dict)
    """The number of kills and freezes, by kind."""
    again: int = 0
    """The number of messages given to a process again."""
    unanswered: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    out_of_order: list[str] = field(default_factory=list)
    wrong_effects: list[str] = field(default_factory=list)
    wedged: list[str] = field(default_factory=list)
    """Messages still open."""


class Chaos:
    """Conversations, and what came of them."""

    plan: Plan
    outcome: Outcome

    async def _talk(self, thread: str) -> None:
        for number in range(1, self.plan.turns + 1):
            while not await self._played(thread, number):
                self.outcome.again += 1
                await asyncio.sleep(0.05)

    async def _played(self, thread: str, number: int) -> bool:
        """Have a message answered; False if it is to be sent again."""
        raise NotImplementedError

    async def _judge(self, thread: str, memory: Memory) -> None:
        numbers = range(1, self.plan.turns + 1)
        lines = await memory.transcript.lines(thread)
        answers = Counter(line.message_id for line in lines if line.role == "assistant")
        said = [line.message_id for line in lines if line.role == "user"]
        sql = "SELECT number, text FROM reminders WHERE user = ? ORDER BY number"
        rows = await memory.database.execute(sql, (thread,))
        expected = [f"Set: {number}. call number {number}: tomorrow at 9 am." for number in numbers]
        if any(not answers[f"m{number}"] for number in numbers):
            self.outcome.unanswered.append(thread)
        if any(count > 1 for count in answers.values()):
            self.outcome.doubled.append(thread)
        if said != [f"m{number}" for number in numbers] or [it.text for it in lines if it.role != "user"] != expected:
            self.outcome.out_of_order.append(thread)
        if rows != [(number, f"call number {number}") for number in numbers]:
            self.outcome.wrong_effects.append(thread)
        if await memory.transcript.open_entries(thread):
            self.outcome.wedged.append(thread)


def main(befall: Callable[[Plan], Outcome], about: str | None, usual: Plan) -> None:
    """Read a plan from the command line, and print its outcome."""
    options = argparse.ArgumentParser(description=about)
    for name, default in asdict(usual).items():
        options.add_argument(f"--{name.replace('_', '-')}", type=int, default=default)
    sys.stdout.write(f"{json.dumps(asdict(befall(Plan(**vars(options.parse_args())))), indent=1)}\n")
