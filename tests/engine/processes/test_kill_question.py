"""Questions to the user around which processes are killed: asked until they are answered, and answered once."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from agents.events import ToolStart
from agents.toolkit.questions import CHOICE
from app.cli import talk
from app.process.exit_codes import WAITING
from app.testing import Chat
from prompts import phrase
from tests.support.killable_process import Driver, Outcome, Request
from tests.support.scripted_assistant import open_calls
from tests.support.shop_tools import ORDERS
from tests.support.write_tools import Desk

ASK = "There is a thing for a return"
ASKED = "selector: Which order? [Blue shoes | Red hat | Green coat]"
HAT = '{"id":1,"name":"Red hat","price":15.0}'
STREET, ZIP = "street: Elm Street 5", "8001"
ADDRESS = '{"street":"Elm Street 5","zip":8001}'
WEATHER = "What's the weather like tomorrow in Rome?"
GONE = phrase("choice_gone", "en")
MOST_STEPS = 200
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("second_life")]


def request(database: Path, text: str, id: str, **more: Any) -> Request:
    """Return a message to the one thread."""
    return Request(database=str(database), thread="ann", text=text, id=id, **more)


async def killed(chat: Chat, driver: Driver, *before: str, text: str, every: int = 1) -> AsyncIterator[Outcome]:
    """Let a message be killed at each of its steps, each time in a copy of the conversation so far, then at none.

    It is killed at one of `every` so many steps.
    """
    calm = chat.path
    if before:
        await chat.says(*before)
    for step in count(1, every):
        chat.path = calm.with_name(f"{step}.db")
        if before:
            shutil.copy(calm, chat.path)
        outcome = await driver.play(request(chat.path, text, "m", step=step))
        yield outcome
        assert await calls_left(chat) == []
        if not outcome.killed:
            break
        assert step < MOST_STEPS
    assert step > 2


async def calls_left(chat: Chat) -> list[str]:
    """Return the tool calls that nothing answers."""
    async with chat.assistant() as assistant:
        return await open_calls(assistant, "ann")


async def asked(chat: Chat) -> list[Any]:
    """Return the stored question to the user."""
    return [*(await chat.state()).get("pending", [])]


def begun(chat: Chat) -> list[str]:
    """Return the tools that have begun in what was said last."""
    return [event.tool for event in chat.events if isinstance(event, ToolStart)]


def noted(answer: str) -> str:
    """Return the trace of what comes after an answer."""
    return f"planner.note(text={answer!r}) = Noted: {answer}.\nplanner: Noted: {answer}."


@pytest.mark.parametrize(("answer", "sent_again"), [("2", True), ("red hat", False)])
async def test_a_question_outlives_who_asked_it(chat: Chat, driver: Driver, answer: str, sent_again: bool) -> None:
    """Killed at any step of the turn that asks, the question can be answered; once it is stored, its tool is over.

    Who sends the message again sees the question again.
    """
    async for _ in killed(chat, driver, text=ASK):
        question, tools = await asked(chat), list[str]()
        if sent_again:
            assert (await chat.says(ASK, id="m")).endswith(ASKED)
            assert question in ([], await asked(chat))
            tools = begun(chat)
        lines = await chat.says(answer)

        assert lines.endswith(f"user: {answer}\nplanner.choose_order() = {HAT}\n{noted(HAT)}")
        assert [*tools, *begun(chat)] == [*([] if question else ["choose_order"]), "note"]
        assert Desk(chat.path).noted == [HAT]


async def test_an_answer_outlives_who_took_it(chat: Chat, driver: Driver) -> None:
    """Killed at any step of the turn that answers, the answer counts once, and nothing is asked again."""
    traces = set()
    async for _ in killed(chat, driver, ASK, text="2"):
        traces.add(await chat.says("2", id="m"))
        assert await chat.says("2", id="m") == f"user: 2\nplanner: Noted: {HAT}."
        assert Desk(chat.path).noted == [HAT]
    answered, *rest = f"planner.choose_order() = {HAT}\n{noted(HAT)}".split("\n")
    assert traces == {"\n".join(["user: 2", *lines]) for lines in ([answered, *rest], rest, rest[1:])}


async def test_an_answer_that_is_given_twice(chat: Chat, driver: Driver) -> None:
    """A repeated answer after a killed process counts once: the second one is only a further message."""
    async for _ in killed(chat, driver, ASK, text="2"):
        lines = await chat.says("the last one")
        assert lines.endswith("user: the last one\nplanner: Well.")
        assert Desk(chat.path).noted == [HAT]


@pytest.mark.parametrize("before", [["Fetch it"], ["Fetch it", STREET]])
async def test_a_form_outlives_who_asked_for_it(chat: Chat, driver: Driver, before: list[str]) -> None:
    """Killed at any step that takes a field, what was given is kept and only what is missing is asked for."""
    text = ZIP if STREET in before else STREET
    async for _ in killed(chat, driver, *before, text=text):
        lines = await chat.says(text, id="m")
        if text == STREET:
            assert lines.split("\n")[1:] == ["breaker: Thank you. What is still missing: [zip]"]
            lines = await chat.says(ZIP)
        assert lines.endswith(noted(ADDRESS).split("\n")[1])
        assert Desk(chat.path).noted == [ADDRESS]


async def test_a_switch_that_leaves_a_question(chat: Chat, driver: Driver) -> None:
    """Killed at any step of a change of subject, the question is left, its call answered, and the talk goes on."""
    async for _ in killed(chat, driver, ASK, text=WEATHER):
        lines = await chat.says(WEATHER, id="m")
        assert lines.endswith(
            "supervisor: It is sunny.\nsupervisor: I had asked: “Which order?” Shall we go on with your to-dos?"
        )
        assert (await asked(chat), await calls_left(chat)) == ([], [])
        lines = await chat.says("Now there is a thing for a return", "3")
        assert lines.endswith(noted(HAT.replace("Red hat", "Green coat").replace("15", "140")))
        assert len(Desk(chat.path).noted) == 1


async def test_resume_knows_a_question_that_was_not_stored(
    chat: Chat, driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed at any step of the turn that asks, `resume --choose` takes that turn up, and the answer if it was asked.

    A question that nobody can have seen is shown first.
    """
    monkeypatch.setattr("app.cli.talk.open_assistant", lambda *_, **__: chat.assistant())
    async for _ in killed(chat, driver, text=ASK):
        if not await asked(chat):
            assert await talk.resume(thread="ann", choose=[*ORDERS][1]) == WAITING
        assert await talk.resume(thread="ann", choose=[*ORDERS][1]) == 0
        assert Desk(chat.path).noted == [HAT]


async def test_two_processes_with_an_answer_each(chat: Chat, driver: Driver) -> None:
    """Of two answers at the same time one counts; the sender of the other one reads that."""
    async with Driver.start("tests.support.killable_writes") as other:
        for number in range(5):
            chat.path = chat.path.with_name(f"{number}.db")
            await chat.says(ASK)
            sign = (await asked(chat))[0]["id"]
            taps = [request(chat.path, text, f"{text}#{sign}", source=CHOICE, life=1) for text in ("1", "2")]
            outcomes = await asyncio.gather(driver.play(taps[0]), other.play(taps[1]))
            [done] = Desk(chat.path).noted
            assert sorted(outcome.said for outcome in outcomes) == sorted([[GONE], [f"Noted: {done}."]])
            assert (await asked(chat), await calls_left(chat)) == ([], [])


async def test_two_processes_with_the_same_answer(chat: Chat, driver: Driver) -> None:
    """An answer that is delivered to two processes counts once, and both tell what came of it."""
    await chat.says(ASK)
    async with Driver.start("tests.support.killable_writes") as other:
        first, second = await asyncio.gather(
            *(process.play(request(chat.path, "2", "a")) for process in (driver, other))
        )
    assert first.said == second.said == [f"Noted: {HAT}."]
    assert Desk(chat.path).noted == [HAT]
