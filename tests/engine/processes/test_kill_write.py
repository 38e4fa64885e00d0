"""Writes of processes that are killed in the middle, or that compete: done once, or honestly in doubt."""

import asyncio
import random
import sys
from dataclasses import replace
from itertools import count
from pathlib import Path
from string import Template

import pytest

from app.testing import Chat
from prompts import phrase
from tests.support.killable_process import Driver, Outcome, Request
from tests.support.killable_writes import Clerk
from tests.support.write_tools import Desk

SEED = 4
TWICE = 10
"""The number of turns that are killed, and killed again on their second run."""
LAST = 15
"""The last step at which that may be."""
MOST_STEPS = 400
IN_DOUBT = {name: phrase("write_unknown", "en", tool=name) for name in ("pay", "mail")}
RECEIPT = "Receipt: https://bank.example/1"
"""The line of a payment's view, above the words."""


def request(database: Path, **more: object) -> Request:
    """Return the message that asks for a payment, a note and a mail."""
    message = Request(
        database=str(database),
        thread="ann",
        text="Pay Bob 10, note it, mail hi",
        id="m",
        since="tool.start",
        finely=True,
    )
    return replace(message, **more)  # type: ignore[arg-type]


def judged(desk: Desk, outcome: Outcome) -> str:
    """Return the faults of the writes and of the words; empty for none."""
    *shown, answer = outcome.said
    pay, note, mail = answer.split("\n")
    paid, mailed = desk.paid.count("Bob 10 EUR"), desk.paid.count("hi")
    wrong = {
        f"noted {len(desk.noted)} times": desk.noted != ["paid Bob"] or note != "Noted: paid Bob.",
        f"paid {paid} times": paid > 1,
        f"mailed {mailed} times": mailed > 1,
        f"done in the order {desk.paid}": desk.paid not in ([], ["Bob 10 EUR"], ["hi"], ["Bob 10 EUR", "hi"]),
        f"showed {shown}, said {pay!r}": shown != [RECEIPT] * (pay != IN_DOUBT["pay"]),
        f"paid {paid} times, said {pay!r}": pay != IN_DOUBT["pay"] and (pay[:11], paid) != ('{"receipt":', 1),
        f"mailed {mailed} times, said {mail!r}": mail != IN_DOUBT["mail"] and (mail, mailed) != ("Sent: hi.", 1),
    }
    return "; ".join(problem for problem, is_wrong in wrong.items() if is_wrong)


@pytest.mark.slow
async def test_a_write_repeated_after_a_kill_is_done_once(
    driver: Driver, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Killed before any commit and around any effect, a turn writes once what is in the database.

    What is outside of it is written at most once, and never said to be done or undone when nobody knows.
    """
    problems, doubts = {}, 0
    for step in count(1):
        database = tmp_path / f"{step}.db"
        killed = await driver.play(request(database, step=step))
        outcome = await driver.play(request(database, life=1))
        if problem := judged(Desk(database), outcome):
            problems[step] = problem
        doubts += outcome.said[-1].count("not known")
        if step % 10 == 0:
            assert (await driver.play(request(database, life=2))).said == outcome.said
        if not killed.killed:
            break
        assert step < MOST_STEPS
    with capsys.disabled():
        sys.stdout.write(f" {step - 1} kills, {doubts} writes in doubt ")
    assert problems == {}
    assert step > 8
    assert doubts > 0


NOTED = ("Note it", "note(text='paid Bob')")
PAID = ("Pay him", "pay(to='Bob', amount=10)")
TRACES = {
    NOTED: ["planner.$call = Noted: paid Bob.\nplanner: Noted: paid Bob.", "planner: Noted: paid Bob."],
    PAID: [
        'planner.$call = {"receipt":1}\nview: link Receipt\nplanner: {"receipt":1}',
        "planner.$call ! $unknown\nplanner: $unknown",
        'view: link Receipt\nplanner: {"receipt":1}',
        f'planner: {RECEIPT}\nplanner: {{"receipt":1}}',
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize(("text", "call"), [NOTED, PAID])
async def test_the_trace_of_a_killed_turn(chat: Chat, driver: Driver, text: str, call: str) -> None:
    """The process that takes a killed turn up does its write, finds it done, or says that nobody knows."""
    chat.script = Clerk(life=1)
    folder, traces = chat.path.parent, set()
    for step in count(1):
        desk = Desk(folder / f"{step}.db")
        killed = await driver.play(request(desk.path, text=text, step=step))
        chat.path, chat.speakers = desk.path, desk.with_desk(chat.speakers)
        traces.add(await chat.says(text, id="m"))
        assert desk.noted == ["paid Bob"] * (text == NOTED[0])
        assert desk.paid in ([], ["Bob 10 EUR"] * (text == PAID[0]))
        if not killed.killed:
            break
    expected = [Template(lines).substitute(call=call, unknown=IN_DOUBT["pay"]) for lines in TRACES[text, call]]
    assert traces == {f"user: {text}\n{lines}" for lines in expected}


@pytest.mark.slow
async def test_a_killed_turn_uses_no_number_up(driver: Driver, tmp_path: Path) -> None:
    """Killed before any commit, a turn that adds to a list adds it once, with the number that comes next."""
    numbered = []
    for step in count(1):
        database = tmp_path / f"{step}.db"
        killed = await driver.play(request(database, text="Milk", step=step))
        numbered.append((await driver.play(request(database, text="Milk", life=1))).said)
        if not killed.killed:
            break
    assert numbered == [["1. milk"]] * step
    assert step > 2


@pytest.mark.slow
async def test_a_turn_that_is_killed_twice(driver: Driver, tmp_path: Path) -> None:
    """A process that takes a killed turn up may be killed, too."""
    chance, problems = random.Random(SEED), {}
    for number in range(TWICE):
        database = tmp_path / f"{number}.db"
        steps = chance.randint(1, LAST), chance.randint(1, LAST)
        for life, step in enumerate(steps):
            await driver.play(request(database, step=step, life=life))
        if problem := judged(Desk(database), await driver.play(request(database, life=2))):
            problems[steps] = problem
    assert problems == {}


@pytest.mark.slow
async def test_two_processes_at_the_same_write(tmp_path: Path) -> None:
    """Asked for the same at the same time, two processes do it once, and both tell the same outcome."""
    database = tmp_path / "x.db"
    async with (
        Driver.start("tests.support.killable_writes") as driver_a,
        Driver.start("tests.support.killable_writes") as driver_b,
    ):
        for round_ in range(5):
            turns = [
                driver.play(request(database, thread=f"{thread}{round_}", user=f"ann{round_}", id=f"m{round_}"))
                for driver, thread in ((driver_a, "a"), (driver_b, "b"))
            ]
            first, second = await asyncio.gather(*turns)
            shown, answer = first.said
            pay, note, _ = answer.split("\n")
            assert shown == second.said[0] == RECEIPT
            assert (pay, note) == (f'{{"receipt":{pay[11:-1]}}}', "Noted: paid Bob.")
            assert [said.split("\n")[:2] for said in second.said[1:]] == [[pay, note]]
            assert (desk := Desk(database)).paid.count("Bob 10 EUR") == round_ + 1
            assert len(desk.noted) == round_ + 1
