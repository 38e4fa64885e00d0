"""A person's stored data in Telegram: the talk in pages, all of it as a document, and the time it stays."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from agents.language.schedule import Moment
from agents.memory.store import namespace_of
from app.plugins.telegram.door import TelegramDoor
from tests.plugins.telegram.people import ANN, Open, labels
from tests.support.scripted_assistant import ROLES, Echo
from tests.support.telegram_server import BotApi

Reminders = pytest.importorskip("dialogs.planner.store").Reminders


def documents(world: BotApi, chat: int) -> list[str]:
    """Return the texts of the documents in a chat."""
    sent = [call for method, call in world.calls if method == "sendDocument" and call["chat_id"] == chat]
    return [call["document"].decode() for call in sent]


async def keep(door: TelegramDoor) -> None:
    """Keep a few things of Ann."""
    store, user = door.assistant.memory.store, f"telegram-{ANN}"
    await store.aput(namespace_of(user, "todos"), "a", {"number": 1, "text": "milk", "done": True})
    await store.aput(namespace_of(user, "forms"), "profile", {"experience": "a nurse", "skills": ["Go"]})
    await store.aput(namespace_of(user, "settings"), "zone", {"zone": "Europe/Berlin"})
    moment = Moment(datetime.now(UTC) + timedelta(days=40))
    await door.assistant.services.get(Reminders).add(user, user, "made", text="dentist", lang="en", moment=moment)


async def test_a_long_talk_is_shown_in_pages(door: Open, world: BotApi) -> None:
    """The newest page first, with buttons for the older one and for all of it as a document."""
    async with door(Echo().models(ROLES)) as telegram:
        for number in range(4):
            await world.asks(ANN, f"word {number}. " + " ".join(map(str, range(180))), sent=number + 1, door=telegram)
        text = (await world.asks(ANN, "/history", sent=5))[4]
        assert text.startswith("Page 1 of 2")
        assert ("word 3." in text, "word 0." in text) == (True, False)
        assert labels(world.sent[4]) == [["‹ Older", "📄 As a document"]]
        text = (await world.presses(world.sent[4], "‹ Older", sent=6))[5]
        assert text.startswith("Page 2 of 2")
        assert ("word 3." in text, "word 0." in text) == (False, True)
        assert labels(world.sent[5]) == [["Newer ›", "📄 As a document"]]
        world.taps(world.sent[5], "📄 As a document")
        await world.until(lambda: documents(world, ANN))
    [document] = documents(world, ANN)
    assert all(f"> word {number}." in document for number in range(4))


async def test_a_short_talk_needs_no_pages(door: Open, world: BotApi) -> None:
    """A short talk is shown whole, without buttons."""
    async with door(Echo().models(ROLES)) as telegram:
        await world.asks(ANN, "a word", sent=1, door=telegram)
        text = (await world.asks(ANN, "/history", sent=2))[1]
    assert text.count("a word") == 2
    assert "reply_markup" not in world.sent[1]


async def test_all_that_is_kept_is_handed_out(door: Open, world: BotApi) -> None:
    """To read and to process: profile, lists, reminders, settings, and every conversation; nothing of a door's own."""
    async with door(Echo().models(ROLES)) as telegram:
        await keep(telegram)
        await world.asks(ANN, "my first words", sent=1, door=telegram)
        begun = datetime.now(UTC)
        world.says(ANN, "/export")
        world.says(ANN, "/export json")
        texts = await world.asks(ANN, "/export xml", sent=6)
    names = {f"export-{day:%Y-%m-%d}.{kind}" for day in (begun, datetime.now(UTC)) for kind in ("md", "json")}
    assert len(names & {*texts}) == 2
    assert "There is /export" in texts[-1]
    readable, data = documents(world, ANN)
    for text in ("a nurse", "[x] milk", "dentist", "Europe/Berlin", "> my first words"):
        assert text in readable
    plain: dict[str, Any] = json.loads(data)
    assert plain["user"] == "telegram-11"
    assert plain["items"].keys() == {"forms", "settings"}
    assert plain["todos"] == [{"number": 1, "text": "milk", "done": True}]
    assert [content["content"] for content in plain["threads"][0]["contents"]] == ["my first words"] * 2
    assert plain["reminders"][0]["text"] == "dentist"


@pytest.mark.needs("profile")
async def test_privacy_is_told_in_the_readers_language(door: Open, world: BotApi) -> None:
    """The reply names the stored data, its time, and the commands that show and delete it."""
    async with door():
        [text] = await world.asks(ANN, "/privacy", writer={"language_code": "ru"}, sent=1)
    assert text.startswith("Что я храню и как долго:")
    assert all(command in text for command in ("/export", "/forget profile", "/forget me"))
