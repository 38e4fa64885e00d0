"""What the operator is told: how the bot is doing, and that a webhook is deleted."""

import logging

import pytest

from agents.models.script import Script
from tests.support.scripted_assistant import ROLES, Gate
from tests.support.telegram_people import ANN, BOB, Echo, Open
from tests.support.telegram_server import BotApi


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
