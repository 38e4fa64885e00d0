"""Processes that are killed in the middle of a turn: every message is handled once, as if nothing had happened."""

import os
import random
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from app.testing.script import Script
from tests.support.command_line import ask
from tests.support.killable_process import Driver, Outcome, Request
from tests.support.scripted_assistant import ROLES, open_calls, stage, todos, values

SEED = 20
THREADS = ("ann", "bob", "cid")
TALK = (
    "hello",
    "add {a} and {b} to my list",
    "add {c} to my list",
    "get to know me",
    "I am a nurse",
    "add {d} to my list",
    "yes",
    "Python and SQL",
    "what can you do?",
    "show my list",
)


@dataclass(frozen=True)
class Plan:
    """The numbers of kills and messages."""

    kills: int
    """The least number of kills that hit a running turn."""
    messages: int
    """The number of messages of a thread before the next thread's."""
    by_command: int
    """The number of kills of a `python -m app ask`."""


PLAN = Plan(kills=int(os.environ.get("TURN_KILLS", "10")), messages=5 * len(TALK), by_command=3)


@pytest.fixture
async def driver() -> AsyncIterator[Driver]:
    """Start a driver."""
    async with Driver.start() as started:
        yield started


def conversation(plan: Plan, database: Path) -> Iterator[Request]:
    """Yield messages without end, in the order in which they are sent: each thread goes through some rounds."""
    for visit in count():
        for thread in THREADS:
            for number in range(visit * plan.messages, (visit + 1) * plan.messages):
                things = {letter: f"{thread}{number}{letter}" for letter in "abcd"}
                text = TALK[number % len(TALK)].format(**things)
                yield Request(database=str(database), thread=thread, text=text, id=f"{thread}-{number}")


async def remains(database: Path) -> dict[str, dict[str, Any]]:
    """Return by thread what a conversation has left behind, as far as it does not depend on the time of day."""
    async with stage(database, Script().models(ROLES)) as assistant:
        threads: dict[str, dict[str, Any]] = {}
        for thread in THREADS:
            if not (lines := await assistant.history(thread)):
                continue
            assert await open_calls(assistant, thread) == []
            state = await values(assistant, thread)
            threads[thread] = {
                "transcript": [(line.message_id, line.turn, line.speaker, line.text) for line in lines],
                "todos": await todos(assistant, thread),
                "histories": {
                    name: [(message.type, message.text) for message in talk["messages"]]
                    for name, talk in state["talks"].items()
                },
                "state": await assistant.state(thread),
            }
        return threads


class Killer:
    """Send messages to processes that are killed at random points of the turn, and count the hits."""

    def __init__(self, driver: Driver, plan: Plan) -> None:
        self.driver, self.plan = driver, plan
        self.chance = random.Random(SEED)
        self.kills = Counter[str]()

    @property
    def hits(self) -> int:
        """Return the number of kills that hit a running turn."""
        return self.kills["fork"] + self.kills["command"]

    async def harm(self, request: Request, length: float) -> None:
        """Kill a message's turn 1 to 6 times, until it is answered or at least received.

        `length` is how many seconds the turn takes unharmed.
        """
        received = False
        for _ in range(self.chance.randint(1, 6)):
            outcome = await self._attempt(request, length)
            received = received or bool(outcome.events)
            if not outcome.killed:
                return
        if not received:
            await self.driver.play(request)

    async def _attempt(self, request: Request, length: float) -> Outcome:
        how = "fork"
        by_command = self.plan.by_command
        if self.kills["command"] < by_command and self.chance.random() < by_command / self.plan.kills * 2:
            how, outcome = "command", await ask(replace(request, kill=self.chance.uniform(0, 0.4)))
        elif self.chance.random() < 0.2:
            outcome = await self.driver.play(replace(request, kill=self.chance.uniform(0.005, 0.15)))
        else:
            # Squared, since less and less is left of a turn that was killed before.
            moment = length * self.chance.random() ** 2
            outcome = await self.driver.play(replace(request, kill=moment, begun=True))
        if outcome.killed:
            self.kills[how if outcome.cut else "before or after"] += 1
        return outcome


@pytest.mark.slow
async def test_kills_leave_no_trace(driver: Driver, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """However often processes are killed in mid-turn, the conversation is the one without any kill.

    Messages are killed in pairs, so that some wait unanswered while the next one comes; then both are sent
    again, in either order.
    """
    killer = Killer(driver, PLAN)
    pairs = iter(conversation(PLAN, tmp_path / "killed.db"))
    while killer.hits < PLAN.kills:
        pair = [next(pairs), next(pairs)]
        calm = {}
        for request in pair:
            calm[request.id] = await driver.play(replace(request, database=str(tmp_path / "calm.db")))
        for request in pair:
            await killer.harm(request, calm[request.id].events[-1]["ms"] / 1000)
        for request in killer.chance.sample(pair, 2):
            await driver.play(request)
        for request in pair:
            assert (await driver.play(request)).said == calm[request.id].said, f"seed {SEED}, {request.id}"
    with capsys.disabled():
        sys.stdout.write(f" {killer.hits} kills hit a running turn: {dict(killer.kills)} ")
    killed, unharmed = await remains(tmp_path / "killed.db"), await remains(tmp_path / "calm.db")
    for thread, parts in unharmed.items():
        for name, content in parts.items():
            assert killed[thread][name] == content, f"seed {SEED}, {name} of {thread}"
