"""Messages that come at once, in one process and in several: none is lost, none is handled twice."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import BaseMessage

from agents.errors import UsageError
from agents.events import Message, TurnStart
from agents.memory.inbox import InboxEntry
from agents.state.history import waiting_calls
from app.assistant import Assistant, Turn
from app.testing.script import Line, Script
from tests.support.command_line import ask
from tests.support.killable_process import Driver, Outcome, Request
from tests.support.scripted_assistant import (
    ROLES,
    THREAD,
    Gate,
    open_calls,
    play,
    said,
    script_lines,
    stage,
    todos,
    values,
)
from tests.support.until import until
from tests.support.user_words import user_words

TALK = (
    "hello",
    "add milk and bread to my list",
    "get to know me",
    "I am a nurse",
    "add butter to my list",
    "yes",
    "show my list",
)


class Echo(Script):
    """A supervisor that repeats what it hears last, and how many user messages it knows of."""

    def next_line(self, role: str, messages: Sequence[BaseMessage]) -> Line:
        """Return the supervisor's reply."""
        heard = user_words(messages)
        return f"{heard[-1]} is number {len(heard)}"


@pytest.fixture
def echo() -> Echo:
    """Lay out what the models say."""
    return Echo(delays={"supervisor": 0.02})


@pytest.fixture
async def assistant(tmp_path: Path, echo: Echo) -> AsyncIterator[Assistant]:
    """Open the application with models that echo."""
    async with stage(tmp_path / "talk.db", echo.models(ROLES)) as opened:
        yield opened


async def test_messages_at_once_are_answered_one_after_another(assistant: Assistant) -> None:
    """Of messages that come at once to one thread none is lost, and each turn knows all before it."""
    names = [f"m{number}" for number in range(5)]
    answers = await asyncio.gather(*(play(assistant, name, name) for name in names))
    assert [said(events) for events in answers] == [[f"m{n} is number {n + 1}"] for n in range(5)]
    lines = [line for n in range(5) for line in (f"user: m{n}", f"supervisor: m{n} is number {n + 1}")]
    assert await script_lines(assistant) == lines
    assert [line.turn for line in await assistant.history(THREAD)] == [n for n in range(1, 6) for _ in "ua"]
    assert (await values(assistant))["turn"] == 5


async def test_threads_answer_side_by_side(assistant: Assistant, echo: Echo) -> None:
    """Turns of different threads do not wait for each other."""
    arrived = asyncio.Barrier(3)
    started = []

    async def turn(thread: str) -> None:
        async for event in assistant.play(Turn(thread=thread, text="hi")):
            if isinstance(event, TurnStart):
                started.append(thread)
                async with asyncio.timeout(60):
                    await arrived.wait()

    await asyncio.gather(turn("a"), turn("b"), turn("c"))
    assert sorted(started) == ["a", "b", "c"]


async def test_the_same_id_twice_at_once_is_handled_once(assistant: Assistant, echo: Echo) -> None:
    """A message that is delivered twice at once gets one answer, told twice."""
    first, second = await asyncio.gather(play(assistant, "hi", "m"), play(assistant, "hi", "m"))
    assert said(first) == said(second) == ["hi is number 1"]
    assert len(echo.asked) == 1
    assert await script_lines(assistant) == ["user: hi", "supervisor: hi is number 1"]


async def test_an_id_stands_for_one_text(assistant: Assistant, echo: Echo) -> None:
    """The same id with another text is refused and changes nothing, at once or later."""
    outcomes = await asyncio.gather(play(assistant, "hi", "m"), play(assistant, "ho", "m"), return_exceptions=True)
    assert isinstance(outcomes[1], UsageError)
    with pytest.raises(UsageError, match="'m'"):
        await play(assistant, "ho", "m")
    assert await script_lines(assistant) == ["user: hi", "supervisor: hi is number 1"]
    assert said(await play(assistant, "ho", "n")) == ["ho is number 2"]


async def test_messages_left_behind_are_answered_in_the_order_they_came(assistant: Assistant) -> None:
    """Whichever of several unanswered messages is sent again, the earlier ones are answered first."""
    for name in ("one", "two", "three"):
        await assistant.memory.transcript.accept(InboxEntry(THREAD, name, THREAD, name, "message"))
    assert said(await play(assistant, "two", "two"))[:2] == ["one is number 1", "two is number 2"]
    assert said(await play(assistant, "four", "four"))[-1] == "four is number 4"
    users = [line for line in await script_lines(assistant) if line.startswith("user")]
    assert users == ["user: one", "user: two", "user: three", "user: four"]
    assert [line.turn for line in await assistant.history(THREAD)][::2] == [1, 2, 3, 4]


async def test_whoever_waits_can_leave(assistant: Assistant, echo: Echo) -> None:
    """A caller that is cancelled while it waits for the thread leaves the others their turn."""
    echo.gates["supervisor"] = gate = Gate(0)
    waiting = [asyncio.ensure_future(play(assistant, name, name)) for name in ("one", "two", "three")]
    # All take the same way; where the first one is asked, the others have come as far as the thread.
    await until(lambda: echo.asked)
    waiting[1].cancel()
    gate.set()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert waiting[1].cancelled()
    events = waiting[2].result()
    assert [event.text for event in events if isinstance(event, Message)][-1].startswith("three")
    assert [line.turn for line in await assistant.history(THREAD)] == [1, 1, 2, 2]


@pytest.mark.slow
async def test_two_processes_are_given_a_message_each_at_once(tmp_path: Path) -> None:
    """Two processes that answer one thread at once lose nothing: both answer, in the order of acceptance."""
    database = tmp_path / "talk.db"
    outcomes: list[Outcome] = []
    async with Driver.start() as first, Driver.start() as second:
        for number in range(3):
            ann, bob = (request(database, f"add {name}{number} to my list") for name in ("ann", "bob"))
            outcomes += await asyncio.gather(first.play(ann), second.play(bob))
    ann, bob = (request(database, f"add {name} to my list") for name in ("ann", "bob"))
    outcomes += await asyncio.gather(ask(ann), ask(bob))
    with closing(sqlite3.connect(database)) as connection:
        accepted = [row[0] for row in connection.execute("SELECT message_id FROM inbox ORDER BY id")]
    outcomes.sort(key=lambda outcome: int(outcome.events[0]["turn"]))
    assert [outcome.events[0]["turn"] for outcome in outcomes] == [*range(1, 9)]
    assert [outcome.events[0]["text"] for outcome in outcomes] == accepted
    async with stage(database, Script().models(ROLES)) as assistant:
        lines = await assistant.history(THREAD)
        assert [line.text for line in lines if line.role == "user"] == accepted
        assert [line.text for line in lines if line.role == "assistant"] == [
            text for outcome in outcomes for text in outcome.said
        ]
        assert [line.turn for line in lines] == sorted(line.turn for line in lines)
        assert await todos(assistant) == [text.split()[1] for text in accepted]
        assert (await values(assistant))["turn"] == len(outcomes)
        assert await open_calls(assistant) == []


@pytest.mark.slow
async def test_a_clock_that_is_behind_resumes_a_killed_turn(tmp_path: Path) -> None:
    """A process whose clock is 5 s behind takes up what another one left when it was killed in mid-turn."""
    cut = 0
    async with Driver.start() as driver:
        for number, text in enumerate(TALK):
            calm = await driver.play(request(tmp_path / "calm.db", text, f"m{number}"))
            sent = request(tmp_path / "late.db", text, f"m{number}")
            moment = calm.events[-1]["ms"] / 1000 * (number % 5) / 5
            cut += (await driver.play(replace(sent, kill=moment, begun=True))).cut
            assert (await driver.play(replace(sent, clock=-5))).said == calm.said
            assert await remains(tmp_path / "late.db") == await remains(tmp_path / "calm.db")
    assert cut >= 3


def request(database: Path, text: str, message_id: str | None = None) -> Request:
    """Return a message to the one thread."""
    return Request(database=str(database), thread=THREAD, text=text, id=message_id or text)


async def remains(database: Path) -> dict[str, Any]:
    """Return the remains of a conversation."""
    async with stage(database, Script().models(ROLES)) as assistant:
        state = await values(assistant)
        assert {*await open_calls(assistant)} == waiting_calls(state.get("pending", []))
        talks = state["talks"].items()
        shown = await assistant.state(THREAD) or {}
        return {
            "transcript": [(line.message_id, line.turn, line.text) for line in await assistant.history(THREAD)],
            "histories": {name: [(message.type, message.text) for message in talk["messages"]] for name, talk in talks},
            "state": {**shown, "pending": [asked["prompt"] for asked in shown.get("pending", [])]},
            "todos": await todos(assistant),
        }
