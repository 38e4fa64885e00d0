"""The Telegram door begins and ends at any time: nothing is lost, nothing is answered twice."""

import asyncio
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

from agents.conversation.deletion import worded
from agents.errors import DatabaseError
from agents.events import trace
from app.assistant import Turn
from app.plugins.telegram.place import TelegramPlace
from app.plugins.telegram.updates.row import ReplyWithButtons, UpdateRow
from app.process.tasks import cancel
from app.testing.script import Call, Line, Script
from tests.plugins.telegram.people import ANN, BOB, GROUP, Open, never, until_closed, until_noted, until_stored
from tests.support.scripted_assistant import PLAN, ROLES, Echo, Gate, Holding, script_lines, stage
from tests.support.telegram_server import BotApi


async def test_a_restart_answers_what_was_left_once(door: Open, world: BotApi, script: Script) -> None:
    """Messages that a stopped process left unanswered are answered by the next one, and only once."""
    script.gates["supervisor"] = Gate(0)
    script.add(supervisor=["never finished"])
    async with door(is_killed=True) as telegram:
        first = world.says(ANN, "one")
        world.says(ANN, "two")
        await world.until(lambda: script.asked)
        await until_stored(telegram, f"telegram-{ANN}", 2)
    async with door(Echo().models(ROLES)) as telegram:
        assert await world.until_sent(ANN, 2) == ["one", "two"]
        world.bring({"message": first})
        assert await world.asks(ANN, "three", sent=3) == ["one", "two", "three"]
        ids = [line.message_id for line in await telegram.assistant.history(f"telegram-{ANN}")]
        assert ids[0] == f"telegram-{ANN}-{first['message_id']}"


async def test_an_answer_that_somebody_elses_message_completed_is_shown(
    door: Open, world: BotApi, script: Script, tmp_path: Path
) -> None:
    """In a group the next message completes what a crash left half made; a second crash does not hide the answer."""
    script.gates["supervisor"] = Gate(1)
    script.add(supervisor=[Call("current_time"), "never finished"])
    async with door(is_killed=True):
        world.says(GROUP, "@sue_bot one", user=ANN)
        await world.until(lambda: len(script.asked) == 2)
    thread = f"telegram-{GROUP}"
    async with stage(tmp_path / "telegram.db", Echo().models(ROLES)) as assistant:
        turn = Turn(thread=thread, text="two", user=f"telegram-{BOB}", is_group=True)
        assert "supervisor: two" in trace([event async for event in assistant.play(turn)])
        assert "supervisor: one" in await script_lines(assistant, thread)
    async with door(Echo().models(ROLES)):
        assert await world.until_sent(GROUP, 1) == ["one"]
    async with door(Echo().models(ROLES)):
        pass
    assert world.texts(GROUP) == ["one"]


async def test_an_answer_in_the_making_is_still_sent_at_the_end(
    door: Open, world: BotApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A door that closes waits for the answers that are being made, and begins no others."""
    gate = Gate(0)
    async with door(Echo(gates={"supervisor": gate}).models(ROLES)) as telegram:
        tasks = telegram.chats._tasks
        close = tasks.close

        async def closing(patience: float) -> None:
            gate.set()
            await close(patience)

        monkeypatch.setattr(tasks, "close", closing)
        world.says(ANN, "one")
        world.says(ANN, "two")
        await until_stored(telegram, f"telegram-{ANN}", 2)
    assert world.texts(ANN) == ["one"]


@pytest.mark.needs("planner")
@pytest.mark.parametrize("has_arrived", [True, False])
async def test_an_answer_is_sent_once(
    door: Open, world: BotApi, script: Script, monkeypatch: pytest.MonkeyPatch, has_arrived: bool
) -> None:
    """A process may end behind the storing of a turn, or behind the sending of its answer: the chat has it once."""
    script.add(supervisor=[PLAN], planner=["What shall I put down?"])
    thread = f"telegram-{ANN}"

    async with door(is_killed=True) as telegram:
        transcript = telegram.assistant.memory.transcript
        close = transcript.close

        async def close_and_stop(*given: Any, **more: Any) -> None:
            await close(*given, **more)
            await never()

        if has_arrived:
            monkeypatch.setattr(telegram.updates, "settle", never)
        else:
            monkeypatch.setattr(transcript, "close", close_and_stop)
        world.says(ANN, "something for the week")
        if has_arrived:
            assert await world.until_sent(ANN, 1) == ["What shall I put down?"]
            await until_noted(telegram, thread)
        await until_closed(telegram.assistant.memory, thread)
    async with door(Echo().models(ROLES)) as telegram:
        await world.asks(ANN, "/help", sent=2, door=telegram)
        assert await script_lines(telegram.assistant, thread) == [
            "user: something for the week",
            "planner: What shall I put down?",
        ]
    assert world.texts(ANN).count("What shall I put down?") == 1
    assert len(world.texts(ANN)) == 2


async def test_nothing_is_acknowledged_before_it_is_stored(
    door: Open, world: BotApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the database fails, Telegram keeps the message and brings it again."""
    async with door(Echo().models(ROLES)) as telegram:
        accept, acknowledged = telegram.assistant.memory.transcript.accept, list[int]()

        async def failing(letter: Any, *updates: Any) -> Any:
            acknowledged.append(world.offset)
            if len(acknowledged) == 1:
                raise DatabaseError("disk full")
            return await accept(letter, *updates)

        monkeypatch.setattr(telegram.assistant.memory.transcript, "accept", failing)
        message = world.says(ANN, "hello")
        assert await world.until_sent(ANN, 1) == ["hello"]
        assert all(offset <= message["message_id"] for offset in acknowledged[:2])
        await world.until(lambda: world.offset > message["message_id"])


async def test_commands_taps_and_hints_outlive_a_restart(door: Open, world: BotApi, script: Script) -> None:
    """The next process does the work that waits behind a running turn, in its order and once."""
    script.gates["supervisor"] = Gate(0)
    script.add(supervisor=["never finished"])
    voice = {"file_id": "1", "file_unique_id": "1", "duration": 3}
    async with door(Echo().models(ROLES)):
        await world.asks(ANN, "/forget", sent=1)
    async with door(is_killed=True) as telegram:
        waiting = [world.says(ANN, "one"), world.says(ANN, voice=voice), world.says(ANN, "/lang ru")]
        world.taps(world.sent[0], "Yes, do it")
        waiting += [world.says(ANN, "two")]
        await until_stored(telegram, f"telegram-{ANN}", 2)
    async with door(Echo().models(ROLES)) as telegram:
        texts = await world.until_sent(ANN, 6, door=telegram)
        assert [line.text for line in await telegram.assistant.history(f"telegram-{ANN}")] == ["two", "two"]
    async with door(Echo().models(ROLES)) as telegram:
        for message in waiting:
            world.bring({"message": message})
        assert (await world.asks(ANN, "three", sent=7))[6:] == ["three"]
    assert texts[1] == "one"
    assert texts[2].startswith("I cannot use what you sent")
    assert texts[3].startswith("Язык: Русский")
    assert "is deleted" in texts[4]
    assert texts[5] == "two"


async def test_pages_of_a_commands_answer_are_sent_once(
    door: Open, world: BotApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a long answer to a command the next process sends what did not arrive."""
    answer = ReplyWithButtons(
        "\n\n".join(f"Part {number} " + " ".join(f"word{place:03}" for place in range(437)) for number in range(3))
    )

    async def find() -> ReplyWithButtons:
        return answer

    async with door(Echo().models(ROLES)) as telegram:
        updates, send = telegram.assistant.memory.updates, telegram.sender._page
        stored, third = await updates.take("telegram 1234567", "message 1 1", "{}"), asyncio.Event()

        async def stuck(*page: Any, is_first: bool) -> Any:
            if len(world.texts(ANN)) == 2:
                third.set()
                await asyncio.Event().wait()
            return await send(*page, is_first=is_first)

        monkeypatch.setattr(telegram.sender, "_page", stuck)
        task = asyncio.create_task(UpdateRow(telegram, TelegramPlace(ANN), stored).give(find))
        await third.wait()
        await cancel([task])
        monkeypatch.setattr(telegram.sender, "_page", send)
        [waiting] = await updates.open("telegram 1234567")
        await UpdateRow(telegram, TelegramPlace(ANN), waiting).give(find)
    assert [text.split(" word")[0] for text in world.texts(ANN)] == ["Part 0", "Part 1", "Part 2"]


@pytest.mark.parametrize(
    ("line", "shown"),
    [("One two three", ["One two", "⏹ stopped"]), (ConnectionError("secret"), ["Here I am."])],
    ids=["stopped", "failed"],
)
async def test_how_a_turn_ended_is_shown_by_the_next_process(
    door: Open, world: BotApi, script: Script, monkeypatch: pytest.MonkeyPatch, line: Line, shown: list[str]
) -> None:
    """A turn that was stopped or failed is stored before it is shown; a kill in between keeps nothing from the user."""
    script.gates["supervisor"] = gate = Holding(1)
    script.add(supervisor=[line])

    async with door(is_killed=True) as telegram:
        monkeypatch.setattr(telegram.sender, "show", never)
        world.says(ANN, "count")
        if isinstance(line, str):
            await world.until(lambda: gate.holds and world.drafts)
            world.stops(world.drafts[-1])
        await until_closed(telegram.assistant.memory, f"telegram-{ANN}")
    assert world.texts(ANN) == []
    script.add(supervisor=["Here I am."])
    script.gates.clear()
    async with door() as telegram:
        await world.until_sent(ANN, len(shown), door=telegram)
        assert await telegram.assistant.memory.updates.open(telegram.name) == []
    assert world.texts(ANN) == shown


@pytest.mark.parametrize("cut", ["memory.forget_person", "memory.forgettings.close"])
async def test_what_was_agreed_to_be_forgotten_is_told_after_a_restart(
    door: Open, world: BotApi, monkeypatch: pytest.MonkeyPatch, cut: str
) -> None:
    """A process that ends before, or right after, everything is deleted: the next one deletes and says so."""
    reached = asyncio.Event()

    async def reach(*_: object) -> None:
        reached.set()
        await never()

    async with door(Echo().models(ROLES), is_killed=True) as telegram:
        await world.asks(ANN, "forget everything about me", sent=1)
        owner, _, name = cut.rpartition(".")
        monkeypatch.setattr(attrgetter(owner)(telegram.assistant), name, reach)
        world.says(ANN, "yes")
        await reached.wait()
    async with door(Echo().models(ROLES)) as telegram:
        assert await world.until_sent(ANN, 2) == [world.texts(ANN)[0], worded("forgotten", "me", "en")]
        assert await telegram.assistant.history(f"telegram-{ANN}") == []
