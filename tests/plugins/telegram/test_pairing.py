"""Pairing: a link with a code lets its opener in, once and for an hour."""

from pathlib import Path

import pytest
from pydantic import SecretStr

from agents.errors import ConfigError
from app.plugins.telegram import access
from app.plugins.telegram.access import link, pair
from app.plugins.telegram.settings import TelegramSettings
from app.settings import Settings
from app.testing.script import Script
from tests.plugins.telegram.people import ANN, BOB, GROUP, Open
from tests.support.scripted_assistant import ROLES, Echo
from tests.support.telegram_server import TOKEN, BotApi

CID = 33


def code_of(link: str) -> str:
    """Return the code in a link."""
    assert link.startswith("https://t.me/sue_bot?start=")
    return link.partition("=")[2]


def changed(code: str, at: int) -> str:
    """Return a code with another character at a place, whichever stands there."""
    return f"{code[:at]}{'8' if code[at] == '9' else '9'}{code[at + 1 :]}"


async def test_a_link_lets_its_opener_in(door: Open, world: BotApi, script: Script) -> None:
    """Ann is let in and becomes administrator, also after a restart; the link is worth nothing to Bob."""
    script.add(supervisor=["Hello Ann.", "Hello again.", "Hello Bob."])
    async with door(allowed=[]) as telegram:
        assert telegram.access.is_closed
        code = code_of(link("sue_bot", TOKEN))
        texts = await world.asks(ANN, f"/start {code}", sent=2)
        assert "you are its administrator" in texts[0]
        assert texts[1] == "Hello Ann."
        assert "only talks to people" in (await world.asks(BOB, f"/start {code}", sent=1))[0]
        assert telegram.access.administrators == [ANN]
    async with door(allowed=[]) as telegram:
        assert not telegram.access.is_closed
        assert (await world.asks(ANN, "hello", sent=3))[2] == "Hello again."
        assert await world.asks(BOB, f"/start {code_of(link('sue_bot', TOKEN))}", sent=3)
        assert "administrator" not in world.texts(BOB)[1]


async def test_a_link_ends_after_an_hour(door: Open, world: BotApi, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later opener is a stranger."""
    monkeypatch.setattr(access, "LINK_LASTS", -1)
    async with door(Echo().models(ROLES), allowed=[]):
        assert "only talks to people" in (await world.asks(ANN, f"/start {code_of(link('sue_bot', TOKEN))}", sent=1))[0]


async def test_a_code_in_a_group_is_none(door: Open, world: BotApi) -> None:
    """Everybody there would have seen it."""
    async with door(Echo().models(ROLES), allowed=[CID]) as telegram:
        code = code_of(link("sue_bot", TOKEN))
        assert "only talks to people" in (await world.asks(GROUP, f"/start@sue_bot {code}", user=ANN, sent=1))[0]
        assert not telegram.access.admits(ANN)


async def test_the_command_prints_a_link(
    door: Open, world: BotApi, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It works for a bot that runs with another database, too, as a service does; a changed one does not."""
    settings = Settings(_env_file=None, database_url=f"sqlite:///{tmp_path}/another.db")
    own = TelegramSettings(telegram_bot_token=SecretStr(TOKEN), telegram_api_url=world.url)
    async with door(Echo().models(ROLES), allowed=[]) as telegram:
        assert await pair(settings, own) == 0
        code = code_of(capsys.readouterr().out.strip())
        for wrong in (code[:-1], changed(code, 16), changed(code, 0), f"é{code}", "x" * len(code)):
            assert await telegram.access.enter(BOB, wrong) is None
        await world.asks(ANN, f"/start {code}", sent=2)
        assert telegram.access.admits(ANN)


async def test_a_wrong_token_prints_none(world: BotApi, tmp_path: Path) -> None:
    """One line says what is wrong."""
    settings = Settings(_env_file=None, database_url=f"sqlite:///{tmp_path}/telegram.db")
    for address, fault in ((world.url, "does not accept"), ("http://127.0.0.1:9", "cannot be reached")):
        own = TelegramSettings(telegram_bot_token=SecretStr("1:wrong"), telegram_api_url=address)
        with pytest.raises(ConfigError, match=fault):
            await pair(settings, own)
