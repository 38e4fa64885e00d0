"""A process that dies right after any of its writes: the message that is sent again finds its way on from there."""

import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from agents.memory.checkpointer import Saver
from agents.memory.store import Store
from agents.memory.transcript import Transcript
from tests.support.scripted_assistant import ROLES, THREAD, Planner, open_calls, play, said, script_lines, stage, todos

TALK = ("plan my things", "put down milk, and then tell me more?", "put down bread")
WRITES = [(Saver, "aput"), (Saver, "aput_writes"), (Store, "abatch"), (Transcript, "accept"), (Transcript, "close")]


ANSWERS = [["What shall I put down?"], ["Well.", "Noted."], ["Well.", "Noted."]]
WHOLE = {
    "answers": ANSWERS,
    "lines": [
        line
        for text, answers in zip(TALK, ANSWERS, strict=True)
        for line in (f"user: {text}", *(f"planner: {answer}" for answer in answers))
    ],
    "turns": [1, 1, 2, 2, 2, 3, 3, 3],
    "todos": [*TALK[1:]],
    "open calls": [],
}


class Copies:
    """Copy a database after each of its writes, as a process that is killed there would leave it."""

    def __init__(self, database: Path, patch: pytest.MonkeyPatch) -> None:
        self.database = database
        self.turn = 0
        self.taken: list[tuple[str, int, Path]] = []
        for owner, name in WRITES:
            patch.setattr(owner, name, self._copied(name, getattr(owner, name)))

    def _copied(self, name: str, write: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def written(*args: Any, **more: Any) -> Any:
            outcome = await write(*args, **more)
            path = self.database.with_name(f"{len(self.taken)}.db")
            with sqlite3.connect(self.database) as source, sqlite3.connect(path) as copy:
                source.backup(copy)
            source.close()
            copy.close()
            self.taken.append((f"{len(self.taken)} {name}", self.turn, path))
            return outcome

        return written


@pytest.mark.slow
async def test_every_write_may_be_the_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed after any write, a conversation ends as it would have without."""
    with monkeypatch.context() as patch:
        copies = Copies(tmp_path / "first.db", patch)
        async with stage(copies.database, Planner(0).models(ROLES)) as assistant:
            for copies.turn, text in enumerate(TALK):
                await play(assistant, text, str(copies.turn))
            assert await script_lines(assistant) == WHOLE["lines"]
    assert len(copies.taken) > 20
    outcomes = {place: await second_life(path, turn) for place, turn, path in copies.taken}
    assert {place: outcome for place, outcome in outcomes.items() if outcome != WHOLE} == {}


async def second_life(database: Path, turn: int) -> dict[str, object]:
    """Send the messages from this turn on, and then all again; return what the conversation has come to."""
    async with stage(database, Planner(1).models(ROLES)) as assistant:
        try:
            for number in range(turn, len(TALK)):
                await play(assistant, TALK[number], str(number))
            answers = [said(await play(assistant, text, str(number))) for number, text in enumerate(TALK)]
        except Exception as failure:
            return {"failure": repr(failure)}
        return {
            "answers": answers,
            "lines": await script_lines(assistant),
            "turns": [line.turn for line in await assistant.history(THREAD)],
            "todos": await todos(assistant),
            "open calls": await open_calls(assistant),
        }
