"""`setup` connects a bot, and asks in which of its chats reminders ring."""

from pathlib import Path

import pytest
from dotenv import dotenv_values

from app.composition import plugins_found
from app.plugins.telegram import plugin
from app.settings import Settings
from tests.support.telegram_server import TOKEN, BotApi

set_up_alone = pytest.importorskip("app.plugins.first_steps.setup").set_up_alone
setups = pytest.importorskip("tests.plugins.first_steps.test_setup")
Person, serving, home, run = setups.Person, setups.serving, setups.home, setups.run


async def test_a_bot_is_connected(
    home: Path, world: BotApi, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A token that Telegram refuses is asked for again; one that works is written, and the link is shown."""
    monkeypatch.setenv("TELEGRAM_API_URL", world.url)
    async with serving().open() as server:
        person = Person("", "1:wrong", TOKEN)
        assert await run(person, brought={"telegram": plugin}, base_url=server.url) == 0
    assert sum("@BotFather" in question for question in person.secret) == 2
    told = capsys.readouterr().out
    assert "Telegram does not accept it" in told
    assert "https://t.me/sue_bot?start=" in told
    assert TOKEN not in told
    assert dotenv_values(home / ".env")["TELEGRAM_BOT_TOKEN"] == TOKEN


@pytest.mark.needs("ring")
async def test_reminders_may_ring_in_a_chat(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a bot the chat is asked for; a model is not needed for that."""
    monkeypatch.setenv("HOME", str(home / "ann"))
    monkeypatch.setenv("TELEGRAM_BOT_TOKEN", "1:a")
    both = {name: plugins_found()[name] for name in ("ring", "telegram")}
    monkeypatch.setattr("app.plugins.first_steps.setup.plugins_found", lambda: both)
    monkeypatch.setattr("shutil.which", lambda name: name)
    assert await set_up_alone("ring", Settings(), Person("mine", "12")) == 0
    assert dotenv_values(home / ".env") == {"RING_TELEGRAM_CHAT": "12"}
