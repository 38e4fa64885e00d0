"""Failures between the bot and Telegram: waited out, told in friendly words, and logged without users' words."""

import asyncio
import logging

import pytest

from agents.errors import ConfigError
from app.assistant.clocks import Ring, Unreachable
from app.plugins.telegram import bot
from app.plugins.telegram.delivery.buttons import command_buttons
from app.plugins.telegram.delivery.pages import MessagePage
from app.plugins.telegram.delivery.screen import send_document
from app.plugins.telegram.place import TelegramPlace
from app.testing.script import Script
from tests.plugins.telegram.people import ANN, GROUP, Open
from tests.support.scripted_assistant import ROLES, Echo
from tests.support.simulated_time import advance
from tests.support.telegram_server import TOKEN, BotApi, refusal


async def test_flood_control_and_failures_are_waited_out(
    door: Open, world: BotApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A message that Telegram delays or fails on is sent again, later, and in order."""
    monkeypatch.setattr(bot, "FIRST_WAIT", 0.01)
    async with door() as telegram:
        world.fail("sendMessage", refusal(429, "Too Many Requests: retry after 1", retry_after=1))
        world.fail("sendMessage", refusal(502, "Bad Gateway"))
        telling = [asyncio.create_task(telegram.tell(f"telegram-{ANN}", text)) for text in ("one", "two")]
        await world.until(lambda: "sendMessage" in world.methods())
        advance(1)
        await asyncio.gather(*telling)
    assert world.texts(ANN) == ["one", "two"]


CLOSED = ("Bad Request: message thread not found", "Bad Request: TOPIC_CLOSED", "Bad Request: TOPIC_DELETED")
UNREACHED = (
    "Bad Request: chat not found",
    "Bad Request: CHAT_WRITE_FORBIDDEN",
    "Bad Request: PRIVACY_PREMIUM_REQUIRED",
    "Bad Request: PEER_ID_INVALID",
    "Bad Request: user is deactivated",
    "Bad Request: not enough rights to send text messages to the chat",
    "Forbidden: bot was blocked by the user",
)


@pytest.mark.parametrize("chat", [ANN, GROUP])
@pytest.mark.parametrize("words", CLOSED)
async def test_what_a_topic_refuses_is_said_elsewhere_in_the_chat(
    door: Open, world: BotApi, chat: int, words: str
) -> None:
    """A deleted or closed topic takes neither a reminder nor an answer; both stand in the chat beside it."""
    async with door(Echo().models(ROLES)) as telegram:
        assert await world.asks(chat, "@sue_bot hello", topic=7, sent=1)
        world.chats.closed[7] = words
        await telegram.deliver(Ring("reminder-1-1", f"telegram-{chat}:7", f"telegram-{ANN}", "⏰ milk"))
        shown = await world.asks(chat, "@sue_bot once more", topic=7, sent=3)
    assert ["milk" in shown[1], "once more" in shown[2]] == [True, True]
    assert not [message for message in world.sent[1:] if "message_thread_id" in message]


@pytest.mark.parametrize("words", UNREACHED)
async def test_what_a_chat_refuses_waits(
    door: Open, world: BotApi, caplog: pytest.LogCaptureFixture, words: str
) -> None:
    """A chat that cannot be written to is asked once, the operator reads why, and what is unasked stays due."""
    async with door() as telegram:
        status = 403 if words.startswith("Forbidden") else 400
        world.fail("sendMessage", refusal(status, words))
        with pytest.raises(Unreachable):
            await telegram.deliver(Ring("reminder-1-1", f"telegram-{ANN}", f"telegram-{ANN}", "⏰ milk"))
        assert words.split(": ")[1].lower() in caplog.text.lower()
        assert world.texts(ANN) == []
        await telegram.deliver(Ring("reminder-1-1", f"telegram-{ANN}", f"telegram-{ANN}", "⏰ milk"))
    assert world.texts(ANN) == ["⏰ milk"]


async def test_a_text_is_sent_in_the_form_that_telegram_takes(door: Open, world: BotApi) -> None:
    """Without formatting, once more as it is, or in two halves."""
    long = "one two " * 40
    async with door() as telegram:
        world.fail("sendMessage", refusal(400, "Bad Request: can't parse entities"))
        assert await telegram.tell(f"telegram-{ANN}", "a **b**")
        world.fail("sendMessage", refusal(400, "Bad Request: SOMETHING_NEW"))
        assert await telegram.tell(f"telegram-{ANN}", "once more")
        world.fail("sendMessage", refusal(400, "Bad Request: message is too long"))
        assert await telegram.tell(f"telegram-{ANN}", long)
    assert world.texts(ANN)[:2] == ["a b", "once more"]
    assert "".join(world.texts(ANN)[2:]).split() == long.split()
    assert "entities" not in world.sent[0]


async def test_what_telegram_takes_in_no_form_is_not_delivered(
    door: Open, world: BotApi, caplog: pytest.LogCaptureFixture
) -> None:
    """An unknown refusal: a reminder stays due, an answer is replaced by a sentence, and the log has the words."""
    async with door(Echo().models(ROLES)) as telegram:
        for _ in range(2):
            world.fail("sendMessage", refusal(400, "Bad Request: SOMETHING_NEW\x1b[2J"))
        assert not await telegram.tell(f"telegram-{ANN}", "⏰ milk")
        for _ in range(2):
            world.fail("sendMessage", refusal(400, "Bad Request: SOMETHING_NEW"))
        [text] = await world.asks(ANN, "hello", sent=1)
        assert text == "Something went wrong on my side. Please try again."
        assert (await world.presses(world.sent[0], "🔁 Try again", sent=2))[1] == "hello"
    assert "something_new" in caplog.text.lower()
    assert "\x1b" not in caplog.text


async def test_a_file_that_no_server_takes_comes_as_text(door: Open, world: BotApi) -> None:
    """A proxy's 413, or a chat that takes no files: the chat is not kept waiting, and the words are sent."""
    async with door() as telegram:
        for status, words in ((413, "Request Entity Too Large"), (400, "Bad Request: CHAT_SEND_DOCS_FORBIDDEN")):
            world.fail("sendDocument", refusal(status, words))
            assert not await send_document(telegram.sender, TelegramPlace(ANN), "list.txt", b"milk")
        assert world.methods().count("sendDocument") == 2
        assert await send_document(telegram.sender, TelegramPlace(ANN), "list.txt", b"milk")


async def test_a_last_edit_that_is_refused_leaves_one_answer(door: Open, world: BotApi, script: Script) -> None:
    """The answer is a new message then, and the growing one with its stop button goes."""
    async with door() as telegram:
        sent = await telegram.sender.grow(
            TelegramPlace(GROUP), None, MessagePage("so far"), command_buttons(f"telegram-{ANN}", "en", "stop")
        )
        for _ in range(2):
            world.fail("editMessageText", refusal(400, "Bad Request: SOMETHING_NEW"))
        await telegram.sender.show(TelegramPlace(GROUP), [MessagePage("all of it")], instead=sent)
    assert world.texts(GROUP) == ["all of it"]


async def test_an_update_it_cannot_read_deafens_nobody(
    door: Open, world: BotApi, caplog: pytest.LogCaptureFixture
) -> None:
    """A malformed update is left out with a line in the log; those after it are answered."""
    async with door(Echo().models(ROLES)):
        world.bring({"message": {"text": "a secret word"}}, is_valid=False)
        assert await world.asks(ANN, "hello", sent=1) == ["hello"]
    assert "cannot be read" in caplog.text
    assert "secret" not in caplog.text


async def test_a_failure_is_told_in_friendly_words(door: Open, world: BotApi, monkeypatch: pytest.MonkeyPatch) -> None:
    """When something breaks the user hears a sentence, and the chat goes on."""
    async with door(Echo().models(ROLES)) as telegram:

        async def broken(thread: str) -> None:
            raise RuntimeError("a secret word")

        monkeypatch.setattr(telegram.assistant, "history", broken)
        world.says(ANN, "/history")
        texts = await world.asks(ANN, "hello", sent=2)
    assert texts == ["Something went wrong on my side. Please try again.", "hello"]


async def test_the_token_is_never_logged(door: Open, world: BotApi, caplog: pytest.LogCaptureFixture) -> None:
    """Neither the addresses of requests nor a refused token show it, at any level."""
    caplog.set_level(logging.DEBUG)
    async with door(Echo().models(ROLES)):
        await world.asks(ANN, "a secret word", sent=1)
    world.token = "another"
    with pytest.raises(ConfigError, match="TELEGRAM_BOT_TOKEN") as refused:
        async with door():
            raise AssertionError("a door without a token")
    assert TOKEN not in caplog.text + str(refused.value)
    assert refused.value.__suppress_context__
    assert "secret" not in caplog.text
