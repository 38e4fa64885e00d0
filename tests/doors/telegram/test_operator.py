"""What the operator is told: how the bot is doing, and that a webhook is deleted."""

import asyncio
import logging
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from agents.errors import ConfigError
from agents.models.script import Script
from app.assistant import Assistant
from app.doors.telegram import service
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
