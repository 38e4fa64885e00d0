"""A shop's recorded tasks through the whole graph: all as it was there, also when killed or asked for twice."""

import json
import random
import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from benchmarks.replay import replay
from dialogs.orders.records import Kind
from tests.dialogs.orders.files import Record, digest, fill, writes
from tests.dialogs.orders.recorded.killable_replay import RETAIL, tasks_and_reads
from tests.dialogs.orders.recorded.outcomes import row
from tests.dialogs.orders.recorded.tasks import Repeat, Task
from tests.support.killable_process import Driver, Request

SEED = 7
SAMPLE = 6
"""Tasks that are killed, in every turn of theirs."""
KILLS, LAST = 3, 8
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
    assert figures["of these with an identifier"] == 0
    assert figures["outcomes equal"] == figures["calls"] == (485 if repeat else 365)
    # An address may be set back, so that its tools write as often as they are asked to.
    addresses = [step for replayed in played for step in replayed.task.steps if step.tool.endswith("_address")]
    assert figures["writes"] == 119 + (23 if repeat else 0)
    assert sum(step.times for step in addresses) == (46 if repeat else 23)


def judged(task: Task, database: Path) -> bool:
    """Tell whether the shop is as recorded, each write there once."""
    slips = {step.args["order_id"]: step.slipped for step in task.steps if step.slips}
    return (digest(database, slips), writes(database)) == (task.digest, written_in(task))


async def said(driver: Driver, turn: Request, kills: Sequence[int] = ()) -> int:
    """Play a turn, and a yes to each question behind it, killed at these steps first; return how many kills cut one."""
    cuts = 0
    while True:
        killed = [await driver.play(replace(turn, step=step)) for step in kills]
        cuts += sum(outcome.cut for outcome in killed)
        outcome = await driver.play(turn)
        assert outcome.said
        if not outcome.events[-1]["waiting"]:
            return cuts
        turn = replace(turn, text="yes", id=f"{turn.id}+")


@pytest.mark.slow
@recorded
async def test_tasks_killed_between_their_calls(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """However often a process is killed in a turn, the next one takes it up, and each write is there once."""
    chance, (all_tasks, reads) = random.Random(SEED), tasks_and_reads()
    fill(shop := tmp_path / "shop.db", reads.records)
    several = [task for task in all_tasks.values() if len(written_in(task)) > 1]
    cuts = 0
    async with Driver.start("tests.dialogs.orders.recorded.killable_replay") as driver:
        for task in chance.sample(several, SAMPLE):
            shutil.copy(shop, database := tmp_path / f"{task.id}.db")
            for number, text in enumerate(task.texts):
                turn = Request(database=str(database), thread=task.id, text=text, id=str(number))
                cuts += await said(driver, turn, [chance.randint(1, LAST) for _ in range(KILLS)])
            assert judged(task, database), task.id
    with capsys.disabled():
        sys.stdout.write(f" {cuts} turns killed ")
    assert cuts > 2 * SAMPLE


@pytest.mark.slow
@recorded
async def test_a_question_and_its_yes_killed_at_every_statement(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Wherever in the turns of a question and of its yes the process is killed, the shop is as recorded in the end."""
    all_tasks, reads = tasks_and_reads()
    fill(shop := tmp_path / "shop.db", reads.records)
    task = next(task for task in all_tasks.values() if len(task.texts) == len(written_in(task)) == 1)
    asked = Request(database=str(shop), thread=task.id, text=task.wish, id="m")
    async with Driver.start("tests.dialogs.orders.recorded.killable_replay") as driver:
        for ask_step in count(1):
            shutil.copy(shop, asked_shop := tmp_path / f"asked-{ask_step}.db")
            turn = replace(asked, database=str(asked_shop))
            killed = await driver.play(replace(turn, step=ask_step))
            assert (await driver.play(turn)).events[-1]["waiting"]
            if not killed.killed:
                break
        for yes_step in count(1):
            shutil.copy(asked_shop, database := tmp_path / f"{yes_step}.db")
            turn = replace(asked, database=str(database), text="yes", id="y")
            killed = await driver.play(replace(turn, step=yes_step))
            await said(driver, turn)
            assert judged(task, database), yes_step
            if not killed.killed:
                break
    kills = ask_step + yes_step - 2
    with capsys.disabled():
        sys.stdout.write(f" {kills} kills ")
    assert kills > 8


HOME = {"address1": "1 Elm Road", "address2": "", "city": "Oslo", "state": "", "country": "Norway", "zip": "0150"}
AWAY = {**HOME, "address1": "9 Oak Lane"}
SMALL, LARGE = {"options": {"size": "S"}, "price": 10.0}, {"options": {"size": "L"}, "price": 30.0}
VARIANTS = {
    "701": {"item_id": "701", "available": True, **SMALL},
    "702": {"item_id": "702", "available": True, **LARGE},
}
PAID = {"transaction_type": "payment", "amount": 20.0, "payment_method_id": "card"}
METHODS = {
    "card": {"id": "card", "source": "credit_card"},
    "gift": {"id": "gift", "source": "gift_card", "balance": 5.0},
}


def order(id: str, status: str) -> Record:
    """Return an order of two small things."""
    items = [{"name": "Hat", "product_id": "70", "item_id": "701", **SMALL}] * 2
    owner = {"order_id": id, "user_id": "ada", "address": HOME, "status": status, "fulfillments": []}
    return {**owner, "items": items, "payment_history": [PAID]}


USER = {"user_id": "ada", "name": {"first_name": "Ada", "last_name": "Berg"}, "email": "ada@example.com"}
SHOP: dict[Kind, dict[str, Record]] = {
    "products": {"70": {"product_id": "70", "name": "Hat", "variants": VARIANTS}},
    "users": {"ada": {**USER, "address": HOME, "payment_methods": METHODS, "orders": ["#A", "#B"]}},
    "orders": {"#A": order("#A", "delivered"), "#B": order("#B", "pending")},
}


async def test_a_replay_tells_what_differs(tmp_path: Path) -> None:
    """Of two recorded tasks one is as recorded; the other has an outcome, and a shop, that our tools do not give."""
    moved = {**SHOP["orders"]["#B"], "address": AWAY}
    fill(after := tmp_path / "after.db", {**SHOP, "orders": {**SHOP["orders"], "#B": moved}})
    read = {"name": "get_order_details", "arguments": {"order_id": "#A"}, "output": SHOP["orders"]["#A"]}
    write = {"name": "modify_pending_order_address", "arguments": {"order_id": "#B", **AWAY}, "output": moved}
    no_such = {"name": "find_user_id_by_email", "arguments": {"email": "x@example.com"}, "error": "none"}
    wrong = {**read, "output": SHOP["orders"]["#B"]}
    scenario = {"reason_for_call": "It is about #B.", "known_info": ""}
    tasks = [
        {"id": "1", "scenario": scenario, "actions": [read, no_such, write], "db_sha256": digest(after, {})},
        {"id": "2", "scenario": scenario, "actions": [wrong], "db_sha256": "another"},
    ]
    (tmp_path / "db.json").write_text(json.dumps(SHOP), "utf-8")
    (tmp_path / "replay_train.jsonl").write_text("\n".join(map(json.dumps, tasks)), "utf-8")

    figures = row("numbers", await replay(tmp_path))
    expected = {"calls": 4, "errors": 1, "outcomes equal": 3, "shops equal": 1, "writes": 1, "leaks": 0}
    expected["of these with an identifier"] = 0
    assert figures.items() >= expected.items()
