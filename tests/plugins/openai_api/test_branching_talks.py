"""Random trees of branches by three kinds of clients: each branch is as if it had been played alone."""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from agents.memory.connection import Connection, Session
from app.assistant import Assistant, Turn
from app.assistant.branches import exchanged
from app.assistant.turn import Exchange
from tests.plugins.openai_api.open_webui import SETTINGS, Account
from tests.support.http_door import KEYS, SHOP, by, calling
from tests.support.rules import rules
from tests.support.scripted_assistant import said, stage

pytestmark = pytest.mark.needs("planner", "profile")
WORDS = ("hello", "add milk to my list", "show my list", "let's get acquainted", "set a timer for 10 minutes")
NUMBERS = re.compile(r"\d+\.|[\d:]+")
"""No number of a list stands for two things, so that those of a branch go on behind those of another one."""


def numberless(text: str) -> str:
    """Return an answer without the numbers of lists and the times of day."""
    return NUMBERS.sub("#", text)


@dataclass
class Alone:
    """Plays talks alone, each in a thread of its own."""

    assistant: Assistant
    answers: dict[tuple[str, ...], str] = field(default_factory=dict)
    ends: dict[tuple[str, ...], str] = field(default_factory=dict)
    """The threads by what was said in them."""

    async def answer(self, path: Sequence[str]) -> str:
        """Return the answer to the last of these messages in a talk of their own."""
        key = tuple(path)
        if key not in self.answers:
            thread = self.ends.pop(key[:-1], "")
            turns = [Turn(thread=thread or f"alone-{len(self.answers)}", text=text, rings=False) for text in key]
            for turn in turns[-1:] if thread else turns:
                events = [event async for event in self.assistant.play(turn)]
            self.answers[key], self.ends[key] = "\n\n".join(said(events)), turns[-1].thread
        return self.answers[key]


@dataclass
class Tree:
    """The talk of a client with all its branches."""

    account: Account
    tag: str
    has_one_root: bool
    branches: list[list[dict[str, Any]]] = field(default_factory=lambda: [[]])

    async def grow(self, chance: random.Random, alone: Alone) -> str:
        """Say something behind any message of any branch; return the answer, which must be that of the branch alone."""
        earlier = [branch for branch in self.branches if branch] if self.has_one_root else self.branches
        branch = chance.choice(earlier or self.branches)
        # Most messages go on from an end.
        account = Account(self.account.client, self.account.headers, [*branch])
        text = chance.choice([*WORDS, f"add {self.tag} to my list", "show my list"])
        answer = await account.says(text)
        path = [message["content"] for message in account.messages if message["role"] == "user"]
        expected = await alone.answer(path)
        assert numberless(answer) == numberless(expected), (self.tag, path)
        self.branches.append(account.messages)
        return answer


@pytest.mark.parametrize(
    ("seed", "messages"),
    [(8, 16), pytest.param(3, 100, marks=pytest.mark.slow)],
)
async def test_each_branch_is_as_if_played_alone(tmp_path: Path, seed: int, messages: int) -> None:
    """Two clients whose chats are named, two whose persons alone are, and three of whom nothing is told."""
    chance = random.Random(seed)
    async with (
        stage(tmp_path / "alone.db", rules()) as reference,
        stage(tmp_path / "tree.db", rules(), given=[SETTINGS]) as assistant,
        calling(assistant, KEYS) as client,
    ):
        # Of older turns there is only what was said, which the state is made from.
        assistant.memory.saver.keep = messages
        assistant._turn_count.most = reference._turn_count.most = 0
        alone = Alone(reference)
        names = [("ann", "1"), ("bob", "2"), ("cleo", ""), ("dan", ""), *[("", "")] * 3]
        tags = ["apples", "berries", "cherries", "dates", "endives", "figs", "grapes"]
        trees = [
            Tree(Account.of(client, user, chat), tag, bool(user and not chat))
            for (user, chat), tag in zip(names, tags, strict=True)
        ]
        for _ in range(messages):
            tree = chance.choice(trees)
            answer = await tree.grow(chance, alone)
            assert not [tag for tag in tags if tag != tree.tag and tag in answer]


@dataclass
class DatabaseSteps:
    """Counts the steps of the virtual machine of each database, in tens."""

    count: int = 0

    def watch(self, database: Any) -> None:
        """Count the steps of a database from now on."""

        def step() -> int:
            self.count += 1
            return 0

        database.set_progress_handler(step, 10)


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> DatabaseSteps:
    """Count the steps of every database that is opened."""
    counted, opened = DatabaseSteps(), Connection.__init__

    def watched(self: Connection, database: Session, *args: Any) -> None:
        opened(self, database, *args)
        counted.watch(database)

    monkeypatch.setattr(Connection, "__init__", watched)
    return counted


@pytest.mark.needs("agui")
async def test_the_work_follows_what_is_new(tmp_path: Path, steps: DatabaseSteps) -> None:
    """A next message costs the same behind any history, and a branch at most in proportion to what was said."""
    costs = dict[str, list[int]]()
    async with (
        stage(tmp_path / "long.db", rules(), given=[SETTINGS]) as assistant,
        calling(assistant, KEYS) as client,
    ):
        assistant._turn_count.most = 0

        async def cost(what: str, account: Account) -> None:
            before = steps.count
            await account.says("hello")
            costs.setdefault(what, []).append(steps.count - before)

        async def agui_cost(thread: str, messages: Sequence[dict[str, Any]]) -> None:
            empty: dict[str, Any] = {"state": {}, "tools": [], "context": [], "forwardedProps": {}}
            named = [{"id": str(place), **message} for place, message in enumerate(messages)]
            body = {"threadId": thread, "runId": f"run{len(messages)}", "messages": named, **empty}
            before = steps.count
            assert "RUN_FINISHED" in (await client.post("/agui", json=body, headers=by(SHOP))).text
            costs.setdefault("agui", []).append(steps.count - before)

        for length in (100, 200):
            words = [Exchange(f"word {length} {number}", f"answer {number}") for number in range(length)]
            history = [
                {"role": role, "content": text}
                for each in words
                for role, text in (("user", each.text), ("assistant", each.answer))
            ]
            for user, chat in (("ann", str(length)), ("bob", ""), ("", "")):
                account = Account.of(client, user, chat)
                account.messages = [*history]
                await cost("read in", account)
                await cost("next", account)
                account.back()
                await cost("again", account)
            thread = f"alone{length}"
            alone = {**by(SHOP), "X-Thread-Id": thread}
            await Account(client, alone).says("hello")
            kept = f"shop:{thread}"
            await assistant.memory.transcript.restore(kept, exchanged(kept, kept, words, 2), adds=True)
            # The state is made anew of what was said.
            await Account(client, alone).says("hello")
            await cost("next", Account(client, alone))
            for messages in (history, [*history, {"role": "user", "content": "hello"}, history[1]]):
                await agui_cost(f"agui{length}", [*messages, {"role": "user", "content": "hello"}])
    nexts = costs["next"]
    assert max(nexts[4:]) < 2 * max(nexts[:4])
    assert costs["agui"][3] < 2 * costs["agui"][1]
    for what in ("read in", "again"):
        assert all(later <= 3 * first for first, later in zip(costs[what][:3], costs[what][3:], strict=True)), costs
