"""Messages for the operator: the bot's condition, and the deletion of a webhook."""

import asyncio
import logging
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from agents.errors import ConfigError
from app.assistant import Assistant
from app.plugins.telegram import service
from app.plugins.telegram.access import link
from app.plugins.telegram.bot import bot_of, connected
from app.plugins.telegram.settings import TelegramSettings
from app.settings import Settings
from app.testing.script import Script
from prompts import languages, phrase
from tests.plugins.telegram.people import ANN, BOB, GROUP, Open
from tests.support.scripted_assistant import ROLES, Echo, Gate, stage
from tests.support.telegram_server import TOKEN, BotApi


@pytest.mark.needs("usage")
async def test_an_administrator_sees_how_the_bot_is_doing(door: Open, world: BotApi, script: Script) -> None:
    """The answer comes past the running turn; others read that there is no such command."""
    script.gates["supervisor"] = gate = Gate(0)
    script.add(supervisor=["Hello Bob."])
    async with door() as telegram:
        code = link("sue_bot", TOKEN).partition("=")[2]
        assert await telegram.access.enter(ANN, code) == "let_in_admin"
        world.says(BOB, "hello")
        await world.until(lambda: script.asked)
        logging.getLogger("app").error("something")
        [text] = await world.asks(ANN, "/stats", sent=1)
        assert "Updates that wait: 2" in text
        assert "Answers being made: 1" in text
        assert "1 errors" in text
        assert "Models today (UTC): 0 tokens (limit -)" in text
        assert "took 0 tokens (limit 500000)" in text
        gate.set()
        await world.until_sent(BOB, 1)
        assert "There is no /stats" in (await world.asks(BOB, "/stats", sent=2))[1]


async def test_a_message_that_is_too_much_is_refused_with_a_word(door: Open, world: BotApi, script: Script) -> None:
    """While the process takes on no more, the user is told; sent again later the message is answered."""
    script.add(supervisor=["Hello Bob."])
    async with door() as telegram:
        queue = telegram.assistant.queue
        queue.at_once, queue.most_waiting = 1, 0
        with queue.taken("somebody"):
            assert await world.asks(BOB, "hello", sent=1) == [phrase("sorry_crowded", "en")]
        assert (await world.asks(BOB, "hello", sent=2))[1] == "Hello Bob."


async def test_an_administrator_instructs_the_speakers_of_a_topic(door: Open, world: BotApi, script: Script) -> None:
    """The text after /prompt holds in that topic alone, also after /new, until it is taken back."""
    script.add(supervisor=["Ahoy.", "Hello.", "Ahoy again.", "Good day."])
    async with door() as telegram:
        code = link("sue_bot", TOKEN).partition("=")[2]
        await telegram.access.enter(ANN, code)
        world.says(GROUP, "/prompt@sue_bot Talk like a pirate.", user=BOB, topic=5)
        assert "There is no /prompt" in (await world.until_sent(GROUP, 1))[0]
        world.says(GROUP, "/prompt@sue_bot Talk like a pirate.", user=ANN, topic=5)
        assert "Talk like a pirate." in (await world.until_sent(GROUP, 2))[1]
        for number, (topic, text) in enumerate(((5, "hi"), (6, "hello")), 3):
            await world.asks(GROUP, f"@sue_bot {text}", user=BOB, topic=topic, sent=number)
        world.chats.admins[GROUP] = [ANN]
        await world.asks(GROUP, "/new@sue_bot", user=ANN, topic=5, sent=5)
        assert "nothing beside" in (await world.asks(GROUP, "/prompt@sue_bot off", user=ANN, topic=5, sent=6))[5]
        await world.asks(GROUP, "@sue_bot good day", user=BOB, topic=5, sent=7)
    assert ["pirate" in asked.messages[0].text for asked in script.asked] == [True, False, True, False]


async def test_a_webhook_is_deleted_with_a_word(door: Open, world: BotApi, caplog: pytest.LogCaptureFixture) -> None:
    """Another service of this bot gets no more messages; the log says whose, without the secret in its address."""
    world.chats.webhook = "https://bots.example/secret-path"
    async with door(Echo().models(ROLES)):
        await world.asks(ANN, "hello", sent=1)
    assert "had a webhook at bots.example" in caplog.text
    assert "secret-path" not in caplog.text
    assert world.chats.webhook == ""


async def test_a_webhook_that_is_set_meanwhile_is_deleted(
    door: Open, world: BotApi, caplog: pytest.LogCaptureFixture
) -> None:
    """The bot does not stay deaf, and the log says what kept it so."""
    async with door(Echo().models(ROLES)):
        await world.asks(ANN, "hello", sent=1)
        world.chats.webhook = "https://bots.example/secret-path"
        assert (await world.asks(ANN, "hello again", sent=2))[1] == "hello again"
    assert "had a webhook at bots.example" in caplog.text
    assert "another process" not in caplog.text


async def test_a_request_that_hangs_is_begun_anew(
    door: Open, world: BotApi, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever keeps a batch from its end, its updates come again, and each is done once."""
    monkeypatch.setattr("app.plugins.telegram.updates.polling.STALLED", 0.3)
    monkeypatch.setattr("app.plugins.telegram.updates.polling.LONG_POLL", 0)
    async with door(Echo().models(ROLES)) as telegram:
        take, taken = telegram.updates.take, list[object]()

        async def hanging(door: str, key: str, body: str, thread: str | None = None) -> Any:
            taken.append(key)
            if len(taken) == 1:
                await asyncio.Event().wait()
            return await take(door, key, body, thread)

        monkeypatch.setattr(telegram.updates, "take", hanging)
        assert await world.asks(ANN, "hello", sent=1) == ["hello"]
    assert "has hung" in caplog.text
    assert world.texts(ANN) == ["hello"]


@pytest.mark.usefixtures("menus")
async def test_the_bot_says_what_it_is(door: Open, world: BotApi) -> None:
    """In each language, unless somebody has said it already."""
    async with door():
        await world.until(lambda: len(world.chats.descriptions) == len(languages()))
    assert world.chats.descriptions["ru"].startswith("Я помощник")
    world.chats.descriptions = {"": "Ours"}
    async with door():
        await world.until(lambda: world.methods().count("getMyDescription") == 2 * len(languages()))
    assert world.chats.descriptions == {"": "Ours"}


@pytest.mark.parametrize("proxy", ["nonsense", "ftp://127.0.0.1:1", "http://u:secret@[::1"])
def test_a_proxy_that_cannot_be_used(proxy: str) -> None:
    """One line names the setting, and does not show the password."""
    with pytest.raises(ConfigError, match="TELEGRAM_PROXY: write") as wrong:
        bot_of(TelegramSettings(telegram_bot_token=SecretStr(TOKEN), telegram_proxy=SecretStr(proxy)))
    assert "secret" not in str(wrong.value)


async def test_requests_go_by_the_proxy(world: BotApi, tmp_path: Path) -> None:
    """The proxy is asked for Telegram's address; here it is the server itself that reads what it gets."""
    settings = {"telegram_bot_token": TOKEN, "telegram_api_url": "http://telegram.invalid", "telegram_proxy": world.url}
    bot = bot_of(TelegramSettings.model_validate(settings))
    async with connected(bot, patience=0):
        assert bot.username == "sue_bot"


async def test_a_revoked_token_ends_the_command(world: BotApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command ends as with a token that was never right, so that nobody waits for a bot that hears nothing."""

    def opened(settings: Settings) -> AbstractAsyncContextManager[Assistant]:
        return stage(tmp_path / "telegram.db", Echo().models(ROLES))

    monkeypatch.setattr(service, "open_for_door", opened)
    own = TelegramSettings(telegram_bot_token=SecretStr(TOKEN), telegram_api_url=world.url)
    command = asyncio.create_task(service.serve(Settings(_env_file=None), own))
    await world.until(lambda: "getUpdates" in world.methods())
    world.token = "another"
    # The request that waits ends with it.
    world.says(ANN, "hello")
    with pytest.raises(ConfigError, match="TELEGRAM_BOT_TOKEN: Telegram does not accept it"):
        await command
