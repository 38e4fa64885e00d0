"""A shop's recorded tasks through the whole graph: all as it was there, also when killed or asked for twice."""

import random
import shutil
import sys
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from benchmarks.replay import replay
from tests.support.killable_process import Driver, Request
from tests.support.killable_replay import RETAIL, tasks_and_reads
from tests.support.shop.replay_outcomes import row
from tests.support.shop.replay_tasks import Repeat, Task
from tests.support.shop.store import digest, fill, writes

SEED = 7
SAMPLE = 6
"""Tasks that are killed, in every turn of theirs."""
KILLS, LAST = 3, 40
"""Kills of a turn, and the steps among which they come."""
recorded = pytest.mark.skipif(not RETAIL.exists(), reason="the recorded tasks are not beside the project")


def written_in(task: Task) -> list[str]:
    """Return the orders and users that a task writes about, as often as it does."""
    done = [step.args for step in task.steps if step.writes and step.output is not None]
    return [args["order_id"] if "order_id" in args else args["user_id"] for args in done]


@pytest.mark.slow
@recorded
@pytest.mark.parametrize(("spells", "repeat"), [(True, ""), (False, "turn")])
async def test_every_outcome_and_every_shop_is_the_recorded_one(spells: bool, repeat: Repeat) -> None:
    """With numbers for identifiers, each write asked for once or twice, nothing differs from the record."""
    played = await replay(RETAIL, marked=True, spells=spells, repeat=repeat)
    figures = row("", played)
    assert (figures["tasks"], figures["shops equal"], figures["leaks"]) == (74, 74, 0)
    assert figures["outcomes equal"] == figures["calls"] == (485 if repeat else 365)
    # An address may be set back, so that its tools write as often as they are asked to.
    addresses = [step for replayed in played for step in replayed.task.steps if step.tool.endswith("_address")]
    assert figures["writes"] == 119 + (23 if repeat else 0)
    assert sum(step.times for step in addresses) == (46 if repeat else 23)


def judged(task: Task, database: Path) -> bool:
    """Tell whether the shop is as recorded, each write there once."""
    slips = {step.args["order_id"]: step.slipped for step in task.steps if step.slips}
    return (digest(database, slips), writes(database)) == (task.digest, written_in(task))


@pytest.mark.slow
@recorded
async def test_tasks_killed_between_their_calls(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """However often a process is killed in a turn, the next one takes it up, and each write is there once."""
    chance, (all_tasks, reads) = random.Random(SEED), tasks_and_reads()
    fill(shop := tmp_path / "shop.db", reads.records)
    several = [task for task in all_tasks.values() if len(written_in(task)) > 1]
    cuts = 0
    async with Driver.start("tests.support.killable_replay") as driver:
        for task in chance.sample(several, SAMPLE):
            shutil.copy(shop, database := tmp_path / f"{task.id}.db")
            for number, text in enumerate(task.texts):
                turn = Request(database=str(database), thread=task.id, text=text, id=str(number))
                killed = [await driver.play(replace(turn, step=chance.randint(1, LAST))) for _ in range(KILLS)]
                cuts += sum(outcome.cut for outcome in killed)
                assert (await driver.play(turn)).said
            assert judged(task, database), task.id
    with capsys.disabled():
        sys.stdout.write(f" {cuts} turns killed ")
    assert cuts > 2 * SAMPLE


@pytest.mark.slow
@recorded
async def test_a_task_killed_at_every_statement(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Wherever in a turn of reads and a write the process is killed, the shop is as recorded in the end."""
    all_tasks, reads = tasks_and_reads()
    fill(shop := tmp_path / "shop.db", reads.records)
    task = next(task for task in all_tasks.values() if len(task.texts) == len(written_in(task)) == 1)
    async with Driver.start("tests.support.killable_replay") as driver:
        for step in count(1):
            shutil.copy(shop, database := tmp_path / f"{step}.db")
            turn = Request(database=str(database), thread=task.id, text=task.wish, id="m")
            killed = await driver.play(replace(turn, step=step))
            assert (await driver.play(turn)).said
            assert judged(task, database), step
            if not killed.killed:
                break
    with capsys.disabled():
        sys.stdout.write(f" {step - 1} kills ")
    assert step > 20
