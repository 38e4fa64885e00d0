"""A message that comes while another is answered, and messages that are parts of one."""

import asyncio
import time
from functools import partial
from typing import Any

import pytest
from langchain_core.messages import ToolMessage

from agents.memory.preferences import Preferences
from app.plugins.telegram.delivery.pages import pages
from app.plugins.telegram.updates import incoming
from app.testing.script import Call, Script
from prompts import phrase
from tests.plugins.telegram.conftest import Window
from tests.plugins.telegram.people import ANN, BOB, GROUP, Open, labels
from tests.support.scripted_assistant import PLAN, ROLES, Echo, Holding
from tests.support.telegram_server import BotApi

THREAD = f"telegram-{ANN}"
CAROL = 33
ORIGIN = {"type": "hidden_user", "sender_user_name": "Sam", "date": 1_790_000_000}


@pytest.fixture(autouse=True)
def default(door: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a new message do to the answer before it what it does where nothing is set."""
    monkeypatch.setattr(Preferences, "busy", Preferences().busy)


@pytest.fixture
def window(window: Window, monkeypatch: pytest.MonkeyPatch) -> Window:
    """Hold the windows of other messages open, too."""
    for name in ("WINDOW", "LONG_WINDOW"):
        monkeypatch.setattr(incoming, name, 0.05)
    return window


@pytest.mark.needs("planner")
@pytest.mark.parametrize("by", ["the next message", "/stop"])
@pytest.mark.parametrize(("speaker", "passes"), [("supervisor", 0), ("planner", 1)])
async def test_what_was_left_half_done_is_told(
    door: Open, world: BotApi, script: Script, by: str, speaker: str, passes: int
) -> None:
    """The done writes are shown at once, and the interrupted message comes before the next answer."""
    script.gates[speaker] = gate = Holding(passes)
    calls = [Call("add_todos", {"items": ["milk"]}), Call("list_todos")]
    script.add(supervisor=[PLAN], planner=calls[: 2 * passes])
    async with door() as telegram:
        world.says(ANN, "hello, I wonder")
        await world.until(lambda: gate.holds)
        del script.gates[speaker]
        script.add(**{speaker: ["It is wide."], "observer": ["stay"] * passes})
        if by == "/stop":
            world.says(ANN, "/stop")
            await world.until(lambda: not telegram.chats.is_busy(ANN))
        world.says(ANN, "and the sea?")
        await world.until(lambda: not telegram.chats.is_busy(ANN) and world.texts(ANN)[-1:] == ["It is wide."])
        key = "left_half_told" if passes else "left_unanswered"
        assert sum("milk" in text for text in world.texts(ANN)[:-2]) == passes
        assert world.texts(ANN)[-2] == f"ℹ️ {phrase(key, 'en', text='hello, I wonder')}"


async def test_memory_is_what_the_chat_shows(door: Open, world: BotApi, script: Script) -> None:
    """After a stop memory and chat are equal, character for character, wherever the answer was cut.

    Of an answer with marks the chat shows what the same marks make of the text in memory.
    """
    plain = "Well,  here\nit  is:  (a) 😀 b\n\nünd, so… on and_on  "
    marked = "Well, **here it is**: [a](https://example.org/a) `b` and *so on* and on"
    async with door() as telegram:
        for passes in range(4, 9):
            answer = plain if passes % 2 == 0 else marked
            script.gates["supervisor"] = gate = Holding(passes)
            script.add(supervisor=[answer])
            world.says(ANN, f"number {passes}")
            await world.until(partial(lambda gate: gate.holds, gate))
            script.gates["supervisor"] = gate = Holding(0)
            world.says(ANN, "/stop")
            await world.until(partial(lambda passes: len(world.texts(ANN)) == 2 * (passes - 3), passes))
            await world.until(lambda: not telegram.chats.is_busy(ANN))
            line = (await telegram.assistant.history(THREAD))[-1]
            assert line.metadata["interrupted"]
            assert line.metadata["original"].startswith(line.text)
            assert pages(line.text)[0].text == world.texts(ANN)[-2]
            assert line.text == world.texts(ANN)[-2] or answer == marked


async def test_a_message_may_wait(door: Open, world: BotApi, script: Script) -> None:
    """/busy offers what there is; with "queue" nothing is interrupted."""
    script.gates["supervisor"] = gate = Holding(1)
    script.add(supervisor=["One two three", "Hello."])
    async with door():
        assert await world.asks(ANN, "/busy", sent=1) == [
            "While you are being answered, a new message ends the answer and is answered at once."
        ]
        assert labels(world.sent[0]) == [["⏹ End the answer", "⏳ Wait", "↪ Come in"]]
        assert "waits until the answer is complete" in (await world.presses(world.sent[0], "⏳ Wait", sent=2))[1]
        world.says(ANN, "count")
        await world.until(lambda: gate.holds)
        last = world.says(ANN, "say hello")
        await world.until(lambda: world.offset > last["message_id"])
        gate.set()
        assert (await world.until_sent(ANN, 4))[2:] == ["One two three", "Hello."]


@pytest.mark.needs("planner")
async def test_a_message_may_come_in_after_the_tools(door: Open, world: BotApi, script: Script) -> None:
    """With "steer" the tools that run come to their end, and the model hears what they gave and the new message."""
    script.gates["planner"] = gate = Holding(0)
    script.add(supervisor=[PLAN], planner=[Call("list_todos")])
    async with door() as telegram:
        await world.asks(ANN, "/busy steer", sent=1)
        world.says(ANN, "something for the week")
        await world.until(lambda: gate.holds)
        world.says(ANN, "only the short ones")
        await world.until(lambda: telegram.answers[ANN].is_followed)
        script.add(planner=["Here are the short ones."], observer=["stay"])
        gate.set()
        assert (await world.until_sent(ANN, 2))[1] == "Here are the short ones."
        heard = script.asked[-1].messages
        assert [message.status for message in heard if isinstance(message, ToolMessage)] == ["success"]
        assert heard[-1].text.rpartition("</context>\n\n")[2].startswith("only the short ones")
        assert len(world.texts(ANN)) == 2


async def test_nobody_ends_the_answer_of_another(door: Open, world: BotApi, script: Script) -> None:
    """In a group a message of somebody else waits for its turn."""
    script.gates["supervisor"] = gate = Holding(1)
    script.add(supervisor=["One two three", "Hello Bob."])
    async with door():
        world.says(GROUP, "@sue_bot count", user=ANN)
        await world.until(lambda: gate.holds)
        world.says(GROUP, "@sue_bot hello", user=BOB)
        gate.set()
        assert await world.until_sent(GROUP, 2) == ["One two three", "Hello Bob."]


@pytest.mark.usefixtures("window")
async def test_parts_of_a_message_are_one_turn(door: Open, world: BotApi) -> None:
    """Two quick messages, a long text in two parts, a comment with what it forwards: one turn each, one answer."""
    people: dict[int, tuple[list[tuple[str, dict[str, Any]]], str]] = {
        ANN: ([("remind me", {}), ("to buy milk", {})], "remind me\n\nto buy milk"),
        BOB: ([("a" * 4096, {}), ("and its end", {})], f"{'a' * 4096}\nand its end"),
        CAROL: ([("is this true?", {}), ("It is flat.", {"forward_origin": ORIGIN})], "is this true?"),
    }
    async with door(Echo().models(ROLES)) as telegram:
        for place in range(2):
            for chat, (parts, _) in people.items():
                text, fields = parts[place]
                world.says(chat, text, **fields)
        for chat in people:
            await world.until_sent(chat, 1)
        await world.until(lambda: not any(telegram.chats.is_busy(chat) for chat in people))
        for message in [message for message in world.chats.messages.values() if not message["from"]["is_bot"]]:
            world.bring({"message": message})
        world.says(ANN, "/help")
        await world.until(lambda: any("/help" in text for text in world.texts(ANN)))
        # An update is closed after Telegram has taken its answer.
        await world.until(lambda: not telegram.chats.busy)
        for chat, (_, heard) in people.items():
            lines = await telegram.assistant.history(f"telegram-{chat}")
            assert [line.text for line in lines if line.role == "user"] == [heard]
        [quoted] = lines[0].metadata["quoted"]
        assert quoted == {"kind": "forward_beside", "by": "Sam", "text": "It is flat.", "origin": "forwarded"}
        assert await telegram.assistant.memory.updates.open(f"telegram {world.chats.bot['id']}") == []


@pytest.mark.usefixtures("window")
async def test_what_was_typed_apart_is_answered_apart(door: Open, world: BotApi) -> None:
    """After a time out of reach all comes at once; Telegram's date tells what is one message, and nothing is ended."""
    now = int(time.time())
    for ago, text in ((1800, "an hour of rest"), (1778, "and"), (1777, "of play"), (5, "now")):
        world.says(ANN, text, date=now - ago)
    async with door(Echo().models(ROLES)):
        texts = await world.until_sent(ANN, 3)
    assert texts == ["an hour of rest", "and\n\nof play", "now"]


@pytest.mark.usefixtures("window")
async def test_parts_that_are_too_long_together(door: Open, world: BotApi) -> None:
    """Of a text in five parts its writer is told that it is too long; no part is answered alone."""
    async with door(Echo().models(ROLES)) as telegram:
        for _ in range(5):
            world.says(ANN, "a" * 4094)
        [text] = await world.until_sent(ANN, 1, door=telegram)
        assert "20474 characters; I take 16000" in text
        assert await telegram.assistant.history(THREAD) == []
        assert (await world.asks(ANN, "hello", sent=2, door=telegram))[1] == "hello"
        assert await telegram.updates.open(telegram.name) == []


async def test_a_part_that_comes_at_the_end_is_taken_whole(
    door: Open, world: BotApi, window: Window, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that is told to end while it stores a part plays what it has stored."""
    extending = asyncio.Event()
    window.is_held = lambda: not extending.is_set()
    async with door(Echo().models(ROLES)) as telegram:
        extend, ending = telegram.assistant.extend, asyncio.Event()

        async def slow(*args: Any) -> bool:
            is_extended: bool = await extend(*args)
            extending.set()
            await ending.wait()
            return is_extended

        monkeypatch.setattr(telegram.assistant, "extend", slow)
        world.says(ANN, "remind me")
        world.says(ANN, "to buy milk")
        await extending.wait()
        # What waits for it goes on when the door has begun to close.
        ending.set()
    assert world.texts(ANN) == ["remind me\n\nto buy milk"]


@pytest.mark.usefixtures("window")
async def test_parts_outlive_a_restart(door: Open, world: BotApi, script: Script) -> None:
    """Parts that were put together before the process ended are answered together, once."""
    script.gates["supervisor"] = Holding(0)
    script.add(supervisor=["never finished"])
    async with door(is_killed=True):
        world.says(ANN, "remind me")
        world.says(ANN, "to buy milk")
        await world.until(lambda: script.asked)
    async with door(Echo().models(ROLES)) as telegram:
        assert await world.until_sent(ANN, 1, door=telegram) == ["remind me\n\nto buy milk"]
    assert len(world.texts(ANN)) == 1


@pytest.mark.usefixtures("window")
async def test_a_command_ends_a_message(door: Open, world: BotApi) -> None:
    """A message after a command does not come before it."""
    async with door(Echo().models(ROLES)):
        await world.asks(ANN, "/busy queue", sent=1)
        for text in ("one", "/lang ru", "two"):
            world.says(ANN, text)
        texts = await world.until_sent(ANN, 4)
    assert [texts[1], texts[3]] == ["one", "two"]
