"""Processes that are killed in the middle of a turn: every message is handled once, as if nothing had happened."""

import random
import sys
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agents.models.script import Script
from tests.support.command_line import ask
from tests.support.killable_process import Driver, Outcome, Request
from tests.support.scripted_assistant import ROLES, open_calls, stage, todos, values

KILLS = 200
"""How many kills must hit a running turn."""
BY_COMMAND = 6
"""How many kills hit a `python -m app ask`."""
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
ROUNDS = 5
"""How often each thread goes through the talk."""


@pytest.fixture
async def driver() -> AsyncIterator[Driver]:
    """Start a driver."""
    async with Driver.start() as started:
        yield started


def conversation(database: Path) -> list[Request]:
    """Return the messages of all threads, in the order in which they are sent."""
    sent = []
    for thread in THREADS:
        for number in range(ROUNDS * len(TALK)):
            things = {letter: f"{thread}{number}{letter}" for letter in "abcd"}
            text = TALK[number % len(TALK)].format(**things)
            sent.append(Request(database=str(database), thread=thread, text=text, id=f"{thread}-{number}"))
    return sent


async def remains(database: Path) -> dict[str, Any]:
    """Return what a conversation has left behind, as far as it does not depend on the time of day."""
    async with stage(database, Script().models(ROLES)) as assistant:
        left: dict[str, Any] = {}
        for thread in THREADS:
            assert await open_calls(assistant, thread) == []
            state = await values(assistant, thread)
            left[thread] = {
                "transcript": [
                    (line.message_id, line.turn, line.speaker, line.text) for line in await assistant.history(thread)
                ],
                "todos": await todos(assistant, thread),
                "histories": {
                    name: [(message.type, message.text) for message in talk["messages"]]
                    for name, talk in state["talks"].items()
                },
                "state": await assistant.state(thread),
            }
        return left


class Killer:
    """Send messages to processes that are killed at random points of the turn, and count the hits."""

    def __init__(self, driver: Driver, lengths: Mapping[str, float]) -> None:
        self.driver, self.lengths = driver, lengths
        self.chance = random.Random(SEED)
        self.kills = Counter[str]()

    @property
    def hits(self) -> int:
        """Return how many kills hit a running turn."""
        return self.kills["fork"] + self.kills["command"]

    async def harm(self, request: Request) -> None:
        """Kill a message's turn 1 to 6 times, until it is answered or at least received."""
        received = False
        for _ in range(self.chance.randint(1, 6)):
            outcome = await self._attempt(request)
            received = received or bool(outcome.events)
            if not outcome.killed:
                return
        if not received:
            await self.driver.play(request)

    async def _attempt(self, request: Request) -> Outcome:
        how = "fork"
        if self.kills["command"] < BY_COMMAND and self.chance.random() < BY_COMMAND / KILLS * 2:
            how, outcome = "command", await ask(replace(request, kill=self.chance.uniform(0, 0.4)))
        elif self.chance.random() < 0.2:
            outcome = await self.driver.play(replace(request, kill=self.chance.uniform(0.005, 0.15)))
        else:
            # Squared, since less and less is left of a turn that was killed before.
            moment = self.lengths[request.id] * self.chance.random() ** 2
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
    calm = {request.id: await driver.play(request) for request in conversation(tmp_path / "calm.db")}
    killer = Killer(driver, {message: outcome.events[-1]["ms"] / 1000 for message, outcome in calm.items()})
    messages = conversation(tmp_path / "killed.db")
    for pair in zip(messages[::2], messages[1::2], strict=True):
        for request in pair:
            await killer.harm(request)
        for request in killer.chance.sample(pair, 2):
            await driver.play(request)
        for request in pair:
            assert (await driver.play(request)).said == calm[request.id].said, f"seed {SEED}, {request.id}"
    with capsys.disabled():
        sys.stdout.write(f" {killer.hits} kills hit a running turn: {dict(killer.kills)} ")
    killed, unharmed = await remains(tmp_path / "killed.db"), await remains(tmp_path / "calm.db")
    for thread in THREADS:
        for part, left in unharmed[thread].items():
            assert killed[thread][part] == left, f"seed {SEED}, {part} of {thread}"
    assert killer.hits >= KILLS
