"""Coming into groups and being thrown out, being blocked and started again."""

from datetime import UTC, datetime

import pytest

from tests.plugins.telegram.people import ANN, BOB, GROUP, Open
from tests.support.scripted_assistant import ROLES, Echo
from tests.support.telegram_server import BotApi

STRANGER = 99
NOW = datetime.now(UTC)


async def test_a_group_is_greeted(door: Open, world: BotApi) -> None:
    """The user who adds the bot to a group reads how to call it, in their language, once; a new rank is no arrival."""
    async with door():
        world.admits(GROUP, user=ANN, lang="ru")
        [greeting] = await world.until_sent(GROUP, 1)
        world.admits(GROUP, "administrator", "member", user=ANN)
        assert len(await world.asks(GROUP, "/help@sue_bot", user=ANN, sent=2)) == 2
    assert greeting.startswith("Всем привет!")
    assert "@sue_bot" in greeting


async def test_a_stranger_brings_the_bot_in(door: Open, world: BotApi) -> None:
    """The group reads one friendly line, and nobody in it is answered but those who may be."""
    async with door(Echo().models(ROLES), allowed=[ANN]):
        world.admits(GROUP, user=STRANGER)
        texts = await world.asks(GROUP, "@sue_bot hello", user=ANN, sent=2)
    assert texts[0].endswith(str(STRANGER))
    assert texts[1] == "hello"


async def test_who_has_blocked_the_bot_is_told_later(
    door: Open, world: BotApi, caplog: pytest.LogCaptureFixture
) -> None:
    """A reminder waits, also over a restart, and rings when the bot is started again."""
    async with door(Echo().models(ROLES)) as telegram:
        await world.asks(ANN, "hello", sent=1)
        world.blocked.add(ANN)
        world.admits(ANN, "kicked", "member", user=ANN)
        notices = telegram.assistant.memory.notices
        await notices.add("telegram-11", "telegram-11", "made", text="gm", lang="en")
        assert not await telegram.tell("telegram-11", "hello?")
    async with door(Echo().models(ROLES)):
        await world.until(lambda: "its user cannot be reached" in caplog.text)
        world.blocked.clear()
        world.admits(ANN, "member", "kicked", user=ANN)
        texts = await world.until_sent(ANN, 2)
    assert "gm" in texts[1]


async def test_a_group_that_threw_the_bot_out(door: Open, world: BotApi) -> None:
    """A reminder of somebody there waits; it comes when the bot is let in again, behind the greeting."""
    async with door(Echo().models(ROLES)) as telegram:
        world.blocked.add(GROUP)
        world.admits(GROUP, "kicked", "member", user=BOB)
        assert not await telegram.tell(f"telegram-{GROUP}:7", "in a topic")
        world.blocked.clear()
        world.admits(GROUP, "member", "kicked", user=BOB)
        await world.until_sent(GROUP, 1)
        assert await telegram.tell(f"telegram-{GROUP}", "here again")
    assert world.texts(GROUP)[1:] == ["here again"]
