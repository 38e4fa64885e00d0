"""What comes to a chat by itself: greetings, and reminders, on time, late, and to users who were away."""

import time
from pathlib import Path

import pytest

from agents.memory import Memory
from app.assistant.clocks import Ring
from app.plugins.telegram.delivery import sender
from tests.plugins.telegram.people import ANN, BOB, GROUP, Open
from tests.support.scripted_assistant import ROLES, Echo, script_lines, stage
from tests.support.telegram_server import BotApi, refusal


async def test_the_application_speaks_unasked(door: Open, world: BotApi) -> None:
    """A text for a chat's thread arrives by itself; an undeliverable one is told as such."""
    async with door() as telegram:
        assert await telegram.tell(f"telegram-{ANN}", "Time for **tea**")
        world.blocked.add(BOB)
        assert not await telegram.tell(f"telegram-{BOB}", "Time for tea")
        assert not await telegram.tell("me", "Time for tea")
    assert world.texts(ANN) == ["Time for tea"]
    assert world.sent[0]["entities"] == [{"type": "bold", "offset": 9, "length": 3}]


async def test_a_reminder_that_was_missed_is_told_as_missed(door: Open, world: BotApi, tmp_path: Path) -> None:
    """A reminder that came due without a process arrives at the next start, with its intended time, and once."""
    async with stage(tmp_path / "telegram.db", Echo().models(ROLES)) as assistant:
        await set_reminder(assistant.memory, ANN, ago=7200)
    async with door(Echo().models(ROLES)):
        (text,) = await world.until_sent(ANN, 1)
        assert text.startswith("⏰ tea (missed: it was due ")
    async with door(Echo().models(ROLES)) as telegram:
        assert await world.asks(ANN, "hello", sent=2, door=telegram) == [text, "hello"]
        assert await script_lines(telegram.assistant, f"telegram-{ANN}") == [
            f"supervisor: {text}",
            "user: hello",
            "supervisor: hello",
        ]


async def test_a_reminder_outlasts_a_network_that_is_away(
    door: Open, world: BotApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that could not be sent for too long is not taken for told."""
    monkeypatch.setattr(sender, "PATIENCE", 0)
    world.fail("sendMessage", refusal(502, "Bad Gateway"))
    async with door(Echo().models(ROLES)) as telegram:
        await set_reminder(telegram.assistant.memory, ANN, ago=0)
        await world.until(lambda: "sendMessage" in world.methods())
        assert sorted(await world.asks(ANN, "hello", sent=2)) == ["hello", "⏰ tea"]


async def test_a_reminder_that_was_written_down_is_not_sent_again(door: Open, world: BotApi) -> None:
    """After a crash between writing it down and taking note of that, the same ring is recognised."""
    async with door(Echo().models(ROLES)) as telegram:
        ring = Ring("reminder-1-5", f"telegram-{ANN}", "ann", "⏰ tea")
        for _ in range(2):
            async with telegram.assistant.memory.locks.hold(ring.thread):
                await telegram.deliver(ring)
    assert world.texts(ANN) == ["⏰ tea"]


async def set_reminder(memory: Memory, chat: int, *, ago: float) -> None:
    """Set a reminder of tea that came due so many seconds ago."""
    at_ms = round((time.time() - ago) * 1000)
    await memory.notices.add(f"telegram-{chat}", f"telegram-{chat}", "call", text="tea", lang="en", at_ms=at_ms)


STRANGER = 99


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
