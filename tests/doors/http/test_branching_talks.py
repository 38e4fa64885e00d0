"""Random trees of branches by three kinds of clients: each branch is as if it had been played alone."""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from agents.models import Models
from agents.models.factory import Endpoint, make_model
from app.assistant import Assistant, Turn
from app.security.api_keys import read_front_ends
from app.settings import Settings
from app.standin import make_chat
from tests.doors.http.open_webui import FRONT_ENDS, Account
from tests.support.http_door import KEYS, served
from tests.support.scripted_assistant import said, stage
from tests.support.settings_cache import without_file

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

    async def answer(self, path: Sequence[str]) -> str:
        """Return what is answered to the last of these messages where nothing else was said."""
        if (key := tuple(path)) not in self.answers:
            for text in path:
                turn = Turn(thread=f"alone-{len(self.answers)}", text=text, rings=False)
                events = [event async for event in self.assistant.play(turn)]
            self.answers[key] = "\n\n".join(said(events))
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
    [(1, 30), *(pytest.param(seed, 500, marks=pytest.mark.slow) for seed in (3, 4))],
)
async def test_each_branch_is_as_if_played_alone(tmp_path: Path, seed: int, messages: int) -> None:
    """Two clients whose chats are named, two whose persons alone are, and three of whom nothing is told."""
    chance, settings = random.Random(seed), without_file(Settings)
    settings = settings.model_copy(update={"front_ends": read_front_ends(FRONT_ENDS)})
    models = Models(make_model("local:rules", Endpoint(rules=partial(make_chat, 1_000))))
    async with (
        stage(tmp_path / "alone.db", models) as reference,
        stage(tmp_path / "tree.db", models) as assistant,
        served(assistant, KEYS, settings=settings) as url,
        httpx.AsyncClient(base_url=url, timeout=60) as client,
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
