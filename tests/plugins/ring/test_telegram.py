"""`ring` through Telegram: it sends as the bot and never reads what the bot is to read."""

from pathlib import Path

import pytest

pytest.importorskip("app.plugins.telegram")
from tests.plugins.ring.running import ring_service
from tests.plugins.telegram.conftest import world
from tests.plugins.telegram.people import ANN, BOB
from tests.support.ringing import remind, told
from tests.support.telegram_server import TOKEN, BotApi
from tests.support.until import until

__all__ = ["world"]


@pytest.fixture(autouse=True)
def bot(world: BotApi, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the bot up, and a chat for what other doors have to ring."""
    own = {"TELEGRAM_BOT_TOKEN": TOKEN, "TELEGRAM_API_URL": world.url, "RING_TELEGRAM_CHAT": str(ANN)}
    for name, value in own.items():
        monkeypatch.setenv(name, value)


@pytest.mark.needs("standin")
async def test_reminders_of_the_terminal_ring_in_a_chat(world: BotApi, tmp_path: Path) -> None:
    """Reminders of the terminal come to the chat of the settings, reminders of a chat to that chat."""
    path = tmp_path / "dialogs.db"
    await remind(path, "tea *now*", ago=0)
    await remind(path, "bread", ago=7200, user=f"telegram-{BOB}", thread=f"telegram-{BOB}")
    async with ring_service(path):
        await until(lambda: world.texts(ANN) and world.texts(BOB))
        await world.until_sent(ANN, 1)
    assert world.texts(ANN) == ["⏰ tea *now*"]
    assert world.texts(BOB)[0].startswith("⏰ bread (missed: it was due ")
    assert await told(path) == ["⏰ tea *now*"]
    assert "getUpdates" not in world.methods()


@pytest.mark.needs("standin")
async def test_nothing_rings_in_a_chat_that_has_blocked_the_bot(world: BotApi, tmp_path: Path) -> None:
    """It waits until its user can be reached; others are rung."""
    path = tmp_path / "dialogs.db"
    for user, text in ((BOB, "bread"), (ANN, "tea")):
        await remind(path, text, ago=0, user=f"telegram-{user}", thread=f"telegram-{user}")
    world.blocked.add(BOB)
    async with ring_service(path):
        await world.until_sent(ANN, 1)
        await world.until(lambda: [sent["chat_id"] for _, sent, _ in world.refusals] == [BOB])
