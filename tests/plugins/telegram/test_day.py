"""The day in Telegram: behind /today, and each morning at an hour of one's own, also after a restart."""

from datetime import UTC, datetime, timedelta
from functools import partialmethod

import pytest

pytest.importorskip("dialogs.planner")

from agents.memory.sqlite_file import SqliteBackend
from app.plugins.telegram.door import TelegramDoor
from dialogs.planner.store import Reminders
from tests.plugins.telegram.people import ANN, BOB, Open
from tests.support.rules import rules
from tests.support.telegram_server import BotApi


class Calendar:
    """The time by which reminders ring; it stands until it is set."""

    def __init__(self) -> None:
        self.at = datetime(2026, 11, 20, 12, tzinfo=UTC)

    def now(self) -> float:
        """Return the time in seconds."""
        return self.at.timestamp()

    def set(self, at: datetime, door: TelegramDoor) -> None:
        """Let it be another time, and ring what is due."""
        self.at = at
        door.assistant.services.get(Reminders).changed.set()


@pytest.fixture
def calendar(monkeypatch: pytest.MonkeyPatch) -> Calendar:
    """A Friday at noon in Greenwich."""
    made = Calendar()
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setattr(SqliteBackend, "open", partialmethod(SqliteBackend.open, made.now))
    return made


async def hears(world: BotApi, chat: int, text: str) -> str:
    """Let somebody write; return the answer."""
    before = len(world.texts(chat))
    return (await world.asks(chat, text, sent=before + 1))[before]


async def test_today_shows_what_is_due_overdue_and_next(door: Open, world: BotApi, calendar: Calendar) -> None:
    """A reminder that rang and was not deleted is overdue on the next day; an empty day is told as such."""
    async with door(rules()) as telegram:
        assert "Nothing is noted" in await hears(world, ANN, "/today")
        await hears(world, ANN, "remind me at 3 pm to call the bank")
        await hears(world, ANN, "remind me tomorrow at 10 to see the dentist")
        await hears(world, ANN, "add tea to my list")
        friday = await hears(world, ANN, "/today")
        assert friday.startswith("Today, Friday, 20 November")
        assert "3 pm" in friday
        assert "call the bank" in friday
        assert "To do: tea" in friday
        assert "Next: call the bank: today at 3 pm" in friday
        calendar.set(datetime(2026, 11, 20, 15, tzinfo=UTC), telegram)
        await world.until(lambda: world.texts(ANN)[-1] == "⏰ call the bank")
        calendar.at = datetime(2026, 11, 21, 8, tzinfo=UTC)
        saturday = await hears(world, ANN, "/today")
    assert saturday.startswith("Today, Saturday, 21 November")
    assert "Left over: call the bank: yesterday at 3 pm" in saturday
    assert "Next: see the dentist: today at 10 am" in saturday


async def test_a_morning_comes_at_an_hour_of_ones_own(door: Open, world: BotApi, calendar: Calendar) -> None:
    """Each user has an hour of their own, once a day, with that day's things; after an undo none comes."""
    morning = datetime(2026, 11, 21, 7, 15, tzinfo=UTC)
    async with door(rules()) as telegram:
        await hears(world, ANN, "remind me tomorrow at 10 to see the dentist")
        assert "7:15 am" in await hears(world, ANN, "send me my day at 7:15")
        assert "9 am" in await hears(world, BOB, "send me my day at 9")
        sent = len(world.texts(ANN)), len(world.texts(BOB))
        calendar.set(morning, telegram)
        text = (await world.until_sent(ANN, sent[0] + 1))[-1]
    assert text.startswith("Today, Saturday, 21 November")
    assert "see the dentist" in text
    assert len(world.texts(BOB)) == sent[1]

    async with door(rules()) as telegram:
        calendar.set(morning + timedelta(hours=2), telegram)
        assert (await world.until_sent(BOB, sent[1] + 1))[-1].startswith("Today, Saturday, 21 November")
        calendar.set(morning + timedelta(days=1), telegram)
        await world.until(lambda: any("Today, Sunday, 22 November" in text for text in world.texts(ANN)))
        assert "Deleted" in await hears(world, ANN, "delete reminder 2")
        count = len(world.texts(ANN))
        calendar.set(morning + timedelta(days=3), telegram)
        await world.until(lambda: world.texts(BOB)[-1].startswith("Today, Tuesday, 24 November"))
    assert len(world.texts(ANN)) == count
