"""The bot's process is killed at random moments: every update is handled once, and what is shown is what is stored."""

import asyncio
import os
import random
import signal
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from agents.models.script import Script
from app.telegram.place import ThreadNames
from app.telegram.thread_names import door_of
from tests.support.killable_bot import Bot
from tests.support.scripted_assistant import ROLES, stage
from tests.support.telegram_server import BOT, BotApi

SEED = 14
MANY_KILLS = int(os.environ.get("BOT_KILLS", "20"))
"""How often the slow run kills; `BOT_KILLS=200` asks for more."""
PEOPLE = (11, 22, 33, 44)
GROUP, TOPIC = -100777, 5
HINT = "I can only read text so far"
VOICE = {"file_id": "1", "file_unique_id": "1", "duration": 3}
LONG = "word " * 1000
"""More than one message of an answer takes."""


@dataclass
class Run:
    """What people did, and what has to come of it."""

    world: BotApi
    number: int = 0
    texts: list[tuple[int, str]] = field(default_factory=list)
    """By chat: the texts that have to be answered once each."""
    commands: list[tuple[int, str]] = field(default_factory=list)
    """By chat: what has to stand once in an answer."""
    hints: Counter[int] = field(default_factory=Counter)
    """By chat: how many hints have to be shown."""
    unsure: set[int] = field(default_factory=set)
    """The messages that were the last ones of their chat when the process was killed: nobody knew of their arrival."""

    def text(self, chat: int, user: int | None, **parts: Any) -> None:
        """Let somebody write a text."""
        word = self._word()
        self.world.says(chat, f"@sue_bot {word}" if chat < 0 else word, user=user, **parts)
        self.texts.append((chat, word))

    def long_text(self, chat: int, user: int | None) -> None:
        """Let somebody write a text whose answer takes two messages."""
        word = f"{self._word()} {LONG}"[:4000] + "é" * 90
        self.world.says(chat, f"@sue_bot {word}" if chat < 0 else word, user=user)
        self.texts.append((chat, word))

    def command(self, chat: int, user: int | None) -> None:
        """Let somebody send a command whose answer repeats its argument."""
        word = self._word()
        self.world.says(chat, f"/go@sue_bot {word}", user=user)
        self.commands.append((chat, word))

    def voice(self, chat: int, user: int | None) -> None:
        """Let somebody send what the bot cannot read."""
        if chat > 0:
            self.world.says(chat, voice=VOICE, user=user)
            self.hints[chat] += 1
        else:
            self.text(chat, user, topic=TOPIC)

    def forget_and_tap(self, chat: int, user: int | None) -> None:
        """Let somebody ask for a deletion; they tap "No" when the question is there."""
        self.world.says(chat, "/forget@sue_bot", user=user)

    def tap_no(self, tapped: set[int]) -> None:
        """Let everybody tap "No" who was asked since the last time."""
        for message in [*self.world.sent]:
            if "reply_markup" in message and message["message_id"] not in tapped:
                tapped.add(message["message_id"])
                asked = message.get("reply_to_message", {}).get("from", {}).get("id")
                self.world.taps(message, "No", user=asked)

    def note_unsure(self) -> None:
        """Note which messages' arrival nobody can know of, after the process was killed."""
        last = {message["chat"]["id"]: message["message_id"] for message in self.world.sent}
        self.unsure.update(last.values())

    def _word(self) -> str:
        self.number += 1
        return f"w{self.number:04}"


async def kill_often(world: BotApi, path: Path, kills: int, people: int, updates: int) -> Run:
    """Let people write while the process is killed and started again; return what they did."""
    chance, run, tapped = random.Random(SEED), Run(world), set[int]()
    kinds: list[Callable[[int, int | None], None]] = [
        run.text,
        run.text,
        run.text,
        run.command,
        run.voice,
        run.long_text,
        run.forget_and_tap,
    ]
    places = [(user, None) for user in PEOPLE[: people - 2]] + [(GROUP, 55), (GROUP, 66)]
    doings = [(kinds[number % len(kinds)], *place) for place in places for number in range(updates)]
    chance.shuffle(doings)
    share = -(-len(doings) // kills)
    async with Bot.ready(world, path) as bot:
        for life in range(kills):
            await bot.start()
            for kind, chat, user in doings[life * share : (life + 1) * share]:
                kind(chat, user)
            run.tap_no(tapped)
            # The first calls of a life are those of its start.
            await reached(world, len(world.calls) + chance.randint(2, 30))
            await asyncio.sleep(chance.uniform(0, 0.02))
            number = chance.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM])
            # A process that has just begun knows no signal yet.
            assert await bot.end(number) in ((0, -number) if number == signal.SIGTERM else (-number,))
            # What the process had sent when it ended arrives a moment later.
            await asyncio.sleep(0.02)
            run.note_unsure()
        await bot.start()
        await world.until(lambda: all(shown(world, chat, word) for chat, word in [*run.texts, *run.commands]), 60)
        run.tap_no(tapped)
        await world.until(lambda: not any("reply_markup" in message for message in world.sent), 60)
        await bot.end(signal.SIGTERM)
    return run


async def reached(world: BotApi, calls: int) -> None:
    """Wait until the bot has made so many calls, or has nothing more to do."""
    with suppress(TimeoutError):
        await world.until(lambda: len(world.calls) >= calls, 1.5)


def shown(world: BotApi, chat: int, word: str) -> list[dict[str, Any]]:
    """Return the messages of the bot in a chat that begin with a word or name it."""
    head = word[:5]
    return [message for message in world.sent if message["chat"]["id"] == chat and head in message["text"][:80]]


async def check(run: Run, path: Path) -> int:
    """Hold what is shown and stored against what people did; return how many messages are shown twice."""
    world, twice = run.world, 0
    for chat, word in [*run.texts, *run.commands]:
        copies = shown(world, chat, word)
        assert copies, f"nobody sees {word} in {chat}"
        assert {message["message_id"] for message in copies[:-1]} <= run.unsure, word
        twice += len(copies) - 1
    for chat, number in run.hints.items():
        hints = [message for message in world.sent if message["chat"]["id"] == chat and HINT in message["text"]]
        assert number <= len(hints)
        unsure = sum(message["message_id"] in run.unsure for message in hints)
        assert len(hints) - number <= unsure
        twice += len(hints) - number
    async with stage(path, Script().models(ROLES)) as assistant:
        assert await assistant.memory.updates.open(door_of(BOT["id"])) == []
        threads = [info.thread for info in await assistant.threads()]
        lines = {thread: await assistant.history(thread) for thread in threads}
        assert [await assistant.memory.transcript.open_entries(thread) for thread in threads] == [[]] * len(threads)
    stored = Counter(line.text for thread in threads for line in lines[thread] if line.role == "user")
    assert stored == Counter(word for _, word in run.texts)
    for thread in threads:
        said = [line.text for line in lines[thread] if line.role == "assistant"]
        assert said == [line.text for line in lines[thread] if line.role == "user"]
        place = ThreadNames().place(thread)
        assert place
        whole = "".join(world.texts(place.chat, place.topic))
        for text in said:
            assert all(part in whole for part in (text[:4000], text[-80:]))
    return twice


async def test_a_bot_that_is_killed(tmp_path: Path) -> None:
    """A few kills among few people."""
    world = BotApi()
    async with world.serving():
        run = await kill_often(world, tmp_path / "bot.db", kills=3, people=3, updates=7)
        assert await check(run, tmp_path / "bot.db") <= 3


@pytest.mark.slow
async def test_a_bot_that_is_killed_often(tmp_path: Path) -> None:
    """Six people, twenty updates each; `BOT_KILLS` says how many kills."""
    world = BotApi()
    async with world.serving():
        run = await kill_often(world, tmp_path / "bot.db", kills=MANY_KILLS, people=6, updates=20)
        twice = await check(run, tmp_path / "bot.db")
    # Most kills hit no message on its way: `-rP` tells the count.
    sys.stdout.write(f"{MANY_KILLS} kills, {run.number} texts and commands, {twice} messages shown twice\n")
    assert twice <= MANY_KILLS
