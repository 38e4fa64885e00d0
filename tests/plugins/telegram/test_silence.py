"""A silent user in Telegram is asked whether they are still there, in private chats alone."""

import time
from functools import partial

import pytest

from agents.memory.inbox import SILENCE
from agents.toolkit.speaker import Silence, Speakers
from app.assistant import clocks
from app.assistant.short_term_memory import contents
from app.plugins.telegram.door import TelegramDoor
from app.testing.script import Script
from tests.plugins.telegram.people import ANN, BOB, GROUP, Open
from tests.support.telegram_server import BotApi

THREAD = f"telegram-{ANN}"
WORDS = "Are you still there?"


@pytest.fixture
def quiet(door: Open, monkeypatch: pytest.MonkeyPatch) -> Open:
    """Open the door of an assistant that asks after a minute, at any hour."""
    monkeypatch.setattr(clocks, "LOOK", 0.02)
    monkeypatch.setattr(clocks, "DAY", range(24))

    def asking(speakers: Speakers) -> Speakers:
        return speakers.with_defaults(silence=Silence(60))

    return partial(door, change=asking)


def let_pass(telegram: TelegramDoor, seconds: float) -> None:
    """Let the assistant's clock go on."""
    telegram.assistant.memory.now = lambda: time.time() + seconds


async def test_a_silent_user_is_asked_once(quiet: Open, world: BotApi, script: Script) -> None:
    """The question is a message of its own, in memory as in the chat; the model knows it after a restart."""
    script.add(supervisor=["What shall it be?", "Good."])
    async with quiet() as telegram:
        await world.asks(ANN, "hello to you", sent=1, door=telegram)
        let_pass(telegram, 61)
        assert await world.until_sent(ANN, 2) == ["What shall it be?", WORDS]
    async with quiet() as telegram:
        assert await world.asks(ANN, "I am back again", sent=3, door=telegram) == ["What shall it be?", WORDS, "Good."]
        memory = contents(await telegram.assistant.history(THREAD))
    assert [it["content"] for it in memory if it["role"] == "assistant"] == world.texts(ANN)
    assert [it["metadata"]["source"] for it in memory] == ["message", "llm", "silence", "message", "llm"]
    assert WORDS in script.asked[-1].messages[-2].text


async def test_who_cannot_be_reached_was_not_asked(quiet: Open, world: BotApi, script: Script) -> None:
    """A user who has blocked the bot is in nobody's memory as asked; and nobody is asked in a group."""
    script.add(supervisor=["Hello.", "Hello.", "Hello."])
    async with quiet() as telegram:
        for chat, user in ((GROUP, ANN), (BOB, BOB), (ANN, ANN)):
            await world.asks(chat, "@sue_bot hello to you", user=user, sent=1, door=telegram)
        world.chats.blocked.add(BOB)
        let_pass(telegram, 61)
        assert (await world.until_sent(ANN, 2))[1] == WORDS
        async with telegram.assistant.memory.locks.hold(f"telegram-{BOB}"):
            lines = await telegram.assistant.history(f"telegram-{BOB}")
        assert [line.text for line in lines if line.role == "assistant"] == ["Hello."]
        assert world.texts(GROUP) == ["Hello."]


async def test_nobody_is_asked_twice_after_a_kill(quiet: Open, world: BotApi, script: Script) -> None:
    """A process that was killed between storing the question and sending it has lost it; the next one asks others."""
    script.add(supervisor=["Hello.", "Hello."])
    async with quiet() as telegram:
        for chat in (ANN, BOB):
            await world.asks(chat, "hello to you", sent=1, door=telegram)
        asked = (await telegram.assistant.history(THREAD))[-1].message_id
        await telegram.assistant.tell(THREAD, WORDS, f"silence-{asked}-1", THREAD, source=SILENCE)
    async with quiet() as telegram:
        let_pass(telegram, 61)
        assert (await world.until_sent(BOB, 2))[1] == WORDS
        async with telegram.assistant.memory.locks.hold(THREAD):
            assert world.texts(ANN) == ["Hello."]


async def test_nobody_is_asked_in_a_conversation_that_was_left(quiet: Open, world: BotApi, script: Script) -> None:
    """A user who has begun another conversation is there."""
    script.add(supervisor=["What shall it be?", "Hello again."])
    async with quiet() as telegram:
        await world.asks(ANN, "hello to you", sent=1)
        await world.asks(ANN, "/new", sent=2, door=telegram)
        let_pass(telegram, 61)
        assert (await world.until_sent(ANN, 3))[2] == WORDS
        assert [line.text for line in await telegram.assistant.history(THREAD)] == ["hello to you", "What shall it be?"]
        last = (await telegram.assistant.history(f"{THREAD}~2"))[-1]
    assert last.text == WORDS
