"""What goes wrong between the bot and Telegram: it is waited out, told in friendly words, and logged without any."""

import asyncio
import logging

import pytest

from agents.errors import ConfigError, ModelUnavailable
from agents.models.script import Script
from app.doors.telegram import bot
from tests.support.scripted_assistant import ROLES
from tests.support.telegram_people import ANN, Echo, Open
from tests.support.telegram_server import TOKEN, BotApi, refusal


async def test_flood_control_and_failures_are_waited_out(
    door: Open, world: BotApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A message that Telegram delays or fails on is sent again, later, and in order."""
    monkeypatch.setattr(bot, "FIRST_WAIT", 0.01)
    async with door() as telegram:
        world.fail("sendMessage", refusal(429, "Too Many Requests: retry after 1", retry_after=1))
        world.fail("sendMessage", refusal(502, "Bad Gateway"))
        begun = asyncio.get_running_loop().time()
        await asyncio.gather(telegram.tell(f"telegram-{ANN}", "one"), telegram.tell(f"telegram-{ANN}", "two"))
        assert asyncio.get_running_loop().time() - begun >= 1
    assert world.texts(ANN) == ["one", "two"]


async def test_what_telegram_refuses_comes_without_formatting(door: Open, world: BotApi) -> None:
    """A page whose entities are refused is sent as plain text; one that is refused for good is let go."""
    async with door() as telegram:
        world.fail("sendMessage", refusal(400, "Bad Request: can't parse entities"))
        assert await telegram.tell(f"telegram-{ANN}", "a **b**")
        world.fail("sendMessage", refusal(400, "Bad Request: message is too long"))
        assert await telegram.tell(f"telegram-{ANN}", "gone")
        world.fail("sendMessage", refusal(400, "Bad Request: chat not found"))
        assert not await telegram.tell(f"telegram-{ANN}", "nobody is there")
        assert await telegram.tell(f"telegram-{ANN}", "here")
    assert world.texts(ANN) == ["a b", "here"]
    assert "entities" not in world.sent[0]


async def test_an_update_it_cannot_read_deafens_nobody(
    door: Open, world: BotApi, caplog: pytest.LogCaptureFixture
) -> None:
    """A malformed update is left out with a line in the log; those after it are answered."""
    async with door(Echo().models(ROLES)):
        world.bring({"message": {"text": "a secret word"}}, is_valid=False)
        world.says(ANN, "hello")
        assert await world.until_sent(ANN, 1) == ["hello"]
    assert "cannot be read" in caplog.text
    assert "secret" not in caplog.text


async def test_a_failure_is_told_in_friendly_words(door: Open, world: BotApi, monkeypatch: pytest.MonkeyPatch) -> None:
    """When something breaks the user hears a sentence, and the chat goes on."""
    async with door(Echo().models(ROLES)) as telegram:

        async def broken(thread: str) -> None:
            raise RuntimeError("a secret word")

        monkeypatch.setattr(telegram.assistant, "history", broken)
        world.says(ANN, "/history")
        world.says(ANN, "hello")
        texts = await world.until_sent(ANN, 2)
    assert texts == ["Something went wrong on my side. Please try again.", "hello"]


async def test_the_token_is_never_logged(door: Open, world: BotApi, caplog: pytest.LogCaptureFixture) -> None:
    """Neither the addresses of requests nor a refused token show it, at any level."""
    caplog.set_level(logging.DEBUG)
    async with door(Echo().models(ROLES)):
        world.says(ANN, "a secret word")
        await world.until_sent(ANN, 1)
    world.token = "another"
    with pytest.raises(ConfigError, match="TELEGRAM_BOT_TOKEN") as refused:
        async with door():
            raise AssertionError("a door without a token")
    assert TOKEN not in caplog.text + str(refused.value)
    assert refused.value.__suppress_context__
    assert "secret" not in caplog.text


async def test_people_are_told_no_names_of_settings(door: Open, world: BotApi, script: Script) -> None:
    """A refused key is the operator's to mend; the user hears so, with a button to try again once it is."""
    script.add(supervisor=[ModelUnavailable("key_refused", "openai:gpt", "401"), "Here I am."])
    async with door():
        world.says(ANN, "hello")
        [text] = await world.until_sent(ANN, 1)
        assert "whoever runs me" in text
        assert "_" not in text
        world.taps(world.sent[0], "🔁 Try again")
        assert (await world.until_sent(ANN, 2))[1] == "Here I am."
