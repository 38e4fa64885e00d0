"""The operators' chat in Telegram while the bot is killed at any trip to its database."""

import signal
import sqlite3
from contextlib import closing
from itertools import count, groupby
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("app.plugins.seat")

from app.plugins.seat.seats import Seats
from app.plugins.telegram.place import door_of
from app.testing.script import Script
from prompts import sentence
from tests.plugins.telegram.killable_operators import CHAT, Operators
from tests.support.scripted_assistant import ROLES, script_lines, stage
from tests.support.telegram_server import BOT, BotApi

IDLE = "SELECT NOT EXISTS (SELECT 1 FROM updates WHERE body IS NOT NULL)"
POSTED = "SELECT 1 FROM seat_posts WHERE message = ?"
TAKE, BACK = (sentence("seat/phrases", f"chat.button_{name}", "en") for name in ("take", "back"))
TAKEN, OVER = sentence("seat/phrases", "taken", "en", name="Ann"), sentence("seat/phrases", "back", "en")
MOST_STEPS = 60
pytestmark = pytest.mark.slow


class Talk:
    """One user and one operator; each step of theirs is done when the bot has shown what comes of it."""

    def __init__(self, world: BotApi, path: Path, user: int) -> None:
        self.world, self.path, self.user = world, path, user
        self.thread = f"telegram-{user}"

    def posts(self, text: str) -> list[dict[str, Any]]:
        """Return the posts of this thread with this text."""
        own = [message for message in self.world.sent if message["chat"]["id"] == CHAT]
        return [message for message in own if self.thread in message["text"] and text in message["text"]]

    async def post(self, text: str) -> dict[str, Any]:
        """Return the latest post with this text, once answers to it are understood."""
        await self.world.until(lambda: self.posts(text) and self._has(POSTED, self.posts(text)[-1]["message_id"]))
        return self.posts(text)[-1]

    async def begin(self) -> None:
        """Let the user call for a person."""
        await self.world.asks(self.user, "hi", sent=1)
        self.world.says(self.user, "/person my lamp")
        await self.post("Reason: my lamp")

    async def act(self, step: str) -> None:
        """Do a step, without waiting for what comes of it."""
        if step == "take":
            self.world.taps(await self.post("Reason: my lamp"), TAKE, user=77)
            return
        about = await self.post("it is broken")
        if step == "answer":
            self.world.says(CHAT, "It comes.", answers=about, user=77)
        else:
            self.world.says(CHAT, "/back a new lamp", answers=about, user=77)

    async def seen(self, step: str) -> None:
        """Wait for what comes of a step; after the take-over the user says what is wrong."""
        text = {"take": TAKEN, "answer": "Ann: It comes.", "back": OVER}[step]
        await self.world.until(lambda: text in self.world.texts(self.user))
        if step == "take":
            self.world.says(self.user, "it is broken")
            await self.post("it is broken")
        elif step == "back":
            await self.world.until(lambda: self.posts("is back with the assistant"))

    async def end(self) -> None:
        """Let the assistant answer again."""
        self.world.says(self.user, "thanks")
        await self.world.until(lambda: self.world.texts(self.user)[-1].endswith("thanks") and self._has(IDLE))

    async def settled(self, mark: Path) -> None:
        """Wait until the bot was killed, or has nothing to do."""
        await self.world.until(lambda: mark.exists() or (not self.world.waiting and self._has(IDLE)))

    def _has(self, sql: str, *values: object) -> bool:
        with closing(sqlite3.connect(self.path)) as database:
            row = database.execute(sql, values).fetchone()
        return bool(row and row[0])


@pytest.mark.parametrize("killed", ["take", "back"])
async def test_an_operators_step_that_is_killed(tmp_path: Path, world: BotApi, killed: str) -> None:
    """Killed at every other trip, nothing is lost or done twice; only what Telegram has shown may be shown again."""
    path, steps = tmp_path / "bot.db", ["take", "answer", "back"]
    step, mark = path.with_suffix(".step"), path.with_suffix(".killed")
    async with Operators.ready(world.url, path) as bot:
        await bot.start()
        for at in count(1, 2):
            talk = Talk(world, path, user=at)
            await talk.begin()
            for before in steps[: steps.index(killed)]:
                await talk.act(before)
                await talk.seen(before)
            await bot.end(signal.SIGTERM)
            step.write_text(str(at))
            await bot.start()
            await talk.act(killed)
            await talk.settled(mark)
            await bot.end(signal.SIGKILL)
            step.unlink()
            was_killed = mark.exists()
            mark.unlink(missing_ok=True)
            await bot.start()
            await talk.seen(killed)
            for after in steps[steps.index(killed) + 1 :]:
                await talk.act(after)
                await talk.seen(after)
            await talk.end()
            await check(talk)
            if not was_killed:
                break
            assert at < MOST_STEPS
    assert at > 1


async def check(talk: Talk) -> None:
    """Hold the transcript, the user's chat and the operators' chat against what was said."""
    expected = ["user: it is broken", "Ann: It comes.", f"supervisor: {OVER}"]
    async with stage(talk.path, Script().models(ROLES)) as assistant:
        lines = await script_lines(assistant, talk.thread)
        assert lines[2:-2] == [f"supervisor: {TAKEN}", *expected]
        assert await assistant.services.get(Seats).all() == []
        assert await assistant.memory.updates.open(door_of(BOT["id"])) == []
    shown = [text for text, _ in groupby(talk.world.texts(talk.user))]
    assert shown[2:-1] == [TAKEN, "Ann: It comes.", OVER]
    assert all(talk.posts(text) for text in ("Reason: my lamp", "it is broken", "is back with the assistant"))
