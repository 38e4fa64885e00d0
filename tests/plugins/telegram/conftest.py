"""The Telegram door, end to end: people write through a Bot API server, the assistant answers over HTTP."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agents.memory.preferences import Preferences
from agents.models import Models
from agents.toolkit.speaker import Speakers
from app.plugins.telegram import flood_control, service
from app.plugins.telegram.bot import ServiceBot
from app.plugins.telegram.delivery import draft
from app.plugins.telegram.door import TelegramDoor
from app.plugins.telegram.settings import TelegramSettings
from app.plugins.telegram.updates import incoming
from app.settings import Settings
from app.testing.script import Script
from tests.plugins.telegram.people import Open
from tests.support.scripted_assistant import ROLES, stage
from tests.support.settings_cache import without_file
from tests.support.shop_tools import with_shop
from tests.support.telegram_server import BotApi

PATIENT = 120.0
"""Seconds that running answers have when a door closes: more than they need on a busy machine."""


@pytest.fixture
async def world() -> AsyncIterator[BotApi]:
    """A Bot API server; a request that it forbids fails the test."""
    api = BotApi()
    async with api.serving():
        yield api


@pytest.fixture
def menus() -> None:
    """Let the door set the menus of commands and the bot's description: twenty requests that few tests look at."""


async def _nothing(_: TelegramDoor) -> None:
    pass


@pytest.fixture
def door(
    request: pytest.FixtureRequest, tmp_path: Path, world: BotApi, script: Script, monkeypatch: pytest.MonkeyPatch
) -> Open:
    """Open the door on a database file that stays; `allowed` are the ids of those who may talk, None: everybody.

    `api` is the server of another bot, `more` are other settings, `given` those of plug-ins. With `is_killed` the
    block's end is that of a process that is killed: nothing that runs is waited for.
    Messages are not put together, and wait for the answer before them. Telegram takes all that is sent.
    """
    for paced in ("BOT", "PRIVATE", "GROUP"):
        monkeypatch.setattr(flood_control, paced, (1000.0, 1000.0))
    if "menus" not in request.fixturenames:
        for setting in ("offer_menus", "describe"):
            monkeypatch.setattr(service, setting, _nothing)
    # On a busy machine any answer would take "longer than usual".
    monkeypatch.setattr(draft, "SLOW_AFTER", 600.0)
    monkeypatch.setattr(incoming, "WINDOW", 0)
    monkeypatch.setattr(Preferences, "busy", "queue")

    def unchanged(speakers: Speakers) -> Speakers:
        return speakers

    @asynccontextmanager
    async def opened(
        models: Models | None = None,
        allowed: Sequence[int] | None = None,
        change: Callable[[Speakers], Speakers] = unchanged,
        api: BotApi = world,
        is_killed: bool = False,
        given: Sequence[object] = (),
        **more: Any,
    ) -> AsyncIterator[TelegramDoor]:
        users = "*" if allowed is None else frozenset(allowed)
        values = {"_env_file": None, "telegram_allowed_users": users, **more}
        settings = Settings.model_validate(values) if more else without_file(Settings)
        own = TelegramSettings.model_validate(values)
        bot = ServiceBot(api.issued, api.url)
        async with (
            stage(tmp_path / "telegram.db", models or script.models(ROLES), change=change, given=given) as assistant,
            service.open_door(assistant, bot, settings, own, 0 if is_killed else PATIENT) as telegram,
        ):
            yield telegram

    return opened


class Window:
    """The time in which further parts of a message may come; it stands still as long as it is held open."""

    def __init__(self, is_held: Callable[[], object]) -> None:
        self.is_held = is_held

    def now(self) -> float:
        """Return the time by which the door measures the window, in seconds."""
        return 0.0 if self.is_held() else asyncio.get_running_loop().time()


@pytest.fixture
def window(door: Open, world: BotApi, monkeypatch: pytest.MonkeyPatch) -> Window:
    """Hold an album's window open until the bot has taken in what was written, however slow the machine is."""
    window = Window(lambda: world.waiting)
    monkeypatch.setattr(incoming, "loop_time", window.now)
    monkeypatch.setattr(incoming, "ALBUM_WINDOW", 0.05)
    return window


@pytest.fixture
def shop(door: Open) -> Open:
    """Open the door of an assistant with a shop."""
    return partial(door, change=with_shop)
