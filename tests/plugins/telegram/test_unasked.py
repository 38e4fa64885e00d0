"""Messages that come to a Telegram chat by themselves: reminders, on time, late, and to absent users."""

import time
from pathlib import Path

import pytest

from agents.memory import Memory
from app.assistant.clocks import Ring
from app.plugins.telegram.delivery import sender
from tests.plugins.telegram.people import ANN, BOB, Open
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
