"""The memory of a talk is the same through whichever door it went, and for whoever reads it."""

from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from agents.memory.preferences import Preferences
from app.assistant import Assistant
from app.cli.records import history
from app.plugins.telegram import flood_control, service
from app.plugins.telegram.bot import ServiceBot
from app.plugins.telegram.settings import TelegramSettings
from app.plugins.telegram.updates import incoming
from app.settings import Settings
from app.testing.script import Call, Script
from tests.plugins.telegram.people import ANN
from tests.support.telegram_server import BotApi

TALK = ("add milk to my list", "thanks")


def comparable(contents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages without what belongs to one door: times, ids of messages, and names of users."""
    own = ("timestamp", "message_id", "speaker", "metadata")
    return [
        {name: value for name, value in content.items() if name not in own}
        | {"by": "user" if content["role"] == "user" else content["speaker"]}
        | {"metadata": {name: value for name, value in content["metadata"].items() if name != "user"}}
        for content in contents
    ]


@pytest.mark.needs("planner")
async def test_every_door_keeps_the_same_memory(
    client: httpx.AsyncClient, assistant: Assistant, script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A talk over HTTP and the same in Telegram leave the same memory; HTTP and `history --json` read it alike."""
    monkeypatch.setattr(flood_control, "PRIVATE", (1000.0, 1000.0))
    monkeypatch.setattr(incoming, "WINDOW", 0)
    monkeypatch.setattr(Preferences, "busy", "queue")
    for name, value in {"DATABASE_URL": f"sqlite:///{tmp_path / 'dialogs.db'}", "LLM_MODEL": "local:rules"}.items():
        monkeypatch.setenv(name, value)
    for _ in range(2):
        script.add(
            supervisor=[Call("plan_things", {"brief": "list"})],
            planner=[Call("add_todos", {"items": ["milk"]}), "Noted.", "You are welcome."],
        )
    for text in TALK:
        await client.post("/threads/ann/turns", json={"text": text})
    world, everybody = BotApi(), TelegramSettings(telegram_allowed_users="*")
    async with (
        world.serving(),
        service.open_door(assistant, ServiceBot(world.issued, world.url), Settings(_env_file=None), everybody),
    ):
        for number, text in enumerate(TALK, 1):
            await world.asks(ANN, text, sent=number)
    [thread] = [info.thread for info in await assistant.threads() if info.thread != "ann"]
    memories = {}
    for name in ("ann", thread):
        memories[name] = (await client.get(f"/threads/{quote(name, safe='')}/memory")).json()["contents"]
        result = await history(name)
        assert result.object == {"thread": name, "contents": memories[name]}
    assert comparable(memories[thread]) == comparable(memories["ann"])
    assert [content["content"] for content in memories["ann"]] == [TALK[0], "Noted.", TALK[1], "You are welcome."]
