"""What the operator is told: how the bot is doing, and that a webhook is deleted."""

import asyncio
import logging
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from agents.errors import ConfigError
from agents.models.script import Script
from app.assistant import Assistant
from app.doors.telegram import service
from app.doors.telegram.bot import bot_of, connected
from app.settings import Settings
from tests.support.scripted_assistant import ROLES, Gate, stage
from tests.support.telegram_people import ANN, BOB, Echo, Open
from tests.support.telegram_server import TOKEN, BotApi


async def test_an_administrator_sees_how_the_bot_is_doing(door: Open, world: BotApi, script: Script) -> None:
    """The answer comes past the running turn; who is no administrator is told that there is no such command."""
    script.gates["supervisor"] = gate = Gate(0)
    script.add(supervisor=["Hello Bob."])
    async with door() as one:
        code = (await one.access.link("sue_bot")).partition("=")[2]
        assert await one.access.enter(ANN, code) == "let_in_admin"
        world.says(BOB, "hello")
        await world.until(lambda: script.asked)
        logging.getLogger("app").error("something")
        world.says(ANN, "/stats")
        [text] = await world.until_sent(ANN, 1)
        assert "Updates that wait: 2" in text
        assert "Answers being made: 1" in text
        assert "1 errors" in text
        gate.set()
        await world.until_sent(BOB, 1)
        world.says(BOB, "/stats")
        assert "There is no /stats" in (await world.until_sent(BOB, 2))[1]


async def test_a_webhook_is_deleted_with_a_word(door: Open, world: BotApi, caplog: pytest.LogCaptureFixture) -> None:
    """Another service of this bot gets no more messages; the log says whose, without the secret in its address."""
    world.chats.webhook = "https://bots.example/secret-path"
    async with door(Echo().models(ROLES)):
        world.says(ANN, "hello")
        await world.until_sent(ANN, 1)
    assert "had a webhook at bots.example" in caplog.text
    assert "secret-path" not in caplog.text
    assert world.chats.webhook == ""


async def test_a_webhook_that_is_set_meanwhile_is_deleted(
    door: Open, world: BotApi, caplog: pytest.LogCaptureFixture
) -> None:
    """The bot does not stay deaf, and the log says what kept it so."""
    async with door(Echo().models(ROLES)):
        world.says(ANN, "hello")
        await world.until_sent(ANN, 1)
        world.chats.webhook = "https://bots.example/secret-path"
        world.says(ANN, "hello again")
        assert (await world.until_sent(ANN, 2))[1] == "hello again"
    assert "had a webhook at bots.example" in caplog.text
    assert "another process" not in caplog.text


async def test_a_request_that_hangs_is_begun_anew(
    door: Open, world: BotApi, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever keeps a batch from its end, its updates come again, and each is done once."""
    monkeypatch.setattr("app.doors.telegram.updates.polling.STALLED", 0.3)
    monkeypatch.setattr("app.doors.telegram.updates.polling.LONG_POLL", 0)
    async with door(Echo().models(ROLES)) as one:
        take, taken = one.updates.take, list[object]()

        async def hanging(door: str, key: str, body: str, thread: str | None = None) -> Any:
            taken.append(key)
            if len(taken) == 1:
                await asyncio.Event().wait()
            return await take(door, key, body, thread)

        monkeypatch.setattr(one.updates, "take", hanging)
        world.says(ANN, "hello")
        assert await world.until_sent(ANN, 1) == ["hello"]
    assert "has hung" in caplog.text
    assert world.texts(ANN) == ["hello"]


async def test_the_bot_says_what_it_is(door: Open, world: BotApi) -> None:
    """In each language, unless somebody has said it already."""
    async with door():
        await world.until(lambda: len(world.chats.descriptions) == 2)
    assert world.chats.descriptions["ru"].startswith("Я помощник")
    world.chats.descriptions = {"": "Ours"}
    async with door():
        await world.until(lambda: world.methods().count("getMyDescription") == 4)
    assert world.chats.descriptions == {"": "Ours"}


@pytest.mark.parametrize("proxy", ["nonsense", "ftp://127.0.0.1:1", "http://u:secret@[::1"])
def test_a_proxy_that_cannot_be_used(proxy: str) -> None:
    """One line names the setting, and does not show the password."""
    with pytest.raises(ConfigError, match="TELEGRAM_PROXY: write") as wrong:
        bot_of(Settings.model_validate({"_env_file": None, "telegram_bot_token": TOKEN, "telegram_proxy": proxy}))
    assert "secret" not in str(wrong.value)


async def test_requests_go_by_the_proxy(world: BotApi, tmp_path: Path) -> None:
    """The proxy is asked for Telegram's address; here it is the server itself that reads what it gets."""
    settings = {"telegram_bot_token": TOKEN, "telegram_api_url": "http://telegram.invalid", "telegram_proxy": world.url}
    bot = bot_of(Settings.model_validate({"_env_file": None, **settings}))
    async with connected(bot, patience=0):
        assert bot.username == "sue_bot"


async def test_a_revoked_token_ends_the_command(world: BotApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command ends as with a token that was never right, so that nobody waits for a bot that hears nothing."""

    def opened(settings: Settings) -> AbstractAsyncContextManager[Assistant]:
        return stage(tmp_path / "telegram.db", Echo().models(ROLES))

    monkeypatch.setattr(service, "open_assistant", opened)
    settings = Settings(_env_file=None, telegram_bot_token=TOKEN, telegram_api_url=world.url)
    command = asyncio.create_task(service.serve(settings))
    await world.until(lambda: "getUpdates" in world.methods())
    world.token = "another"
    # The request that waits ends with it.
    world.says(ANN, "hello")
    with pytest.raises(ConfigError, match="TELEGRAM_BOT_TOKEN: Telegram does not accept it"):
        await asyncio.wait_for(command, 60)
