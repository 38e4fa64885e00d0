"""The bot's process is killed at random moments: every update is handled once, and what is shown is what is stored."""

import asyncio
import os
import random
import signal
import sqlite3
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from agents.memory.inbox import TranscriptLine
from agents.models.script import Script
from app.doors.telegram.delivery.pages import pages
from app.doors.telegram.place import ThreadNames, door_of
from prompts import sentence
from tests.support.busy_chats import GROUP, NO, BusyChats
from tests.support.killable_bot import Bot
from tests.support.scripted_assistant import ROLES, stage
from tests.support.telegram_server import BOT, BotApi

SEED = int(os.environ.get("BOT_SEED", "14"))
KILLS, EACH = int(os.environ.get("BOT_KILLS", "200")), int(os.environ.get("BOT_UPDATES", "100"))
"""How often the slow run kills, and how many updates each person brings."""
HINT, EDITED = sentence("telegram", "only_text", "en"), sentence("telegram", "edited", "en")
HELLO = sentence("telegram", "group_hello", "en", name="sue_bot")
STOP = sentence("telegram", "stop", "en")
OPEN = "SELECT count(*) FROM updates WHERE body IS NOT NULL"


@dataclass
class Kills:
    """A bot that is killed while people write to it."""

    world: BotApi
    path: Path
    chats: BusyChats
    chance: random.Random
    unsure: set[int] = field(default_factory=set)
    """The messages that were the last ones of their chat when the process was killed: nobody knew of their arrival."""

    async def run(self, kills: int, each: int) -> None:
        """Let people bring so many updates each while the process is killed so often; at last it does what is left."""
        doings = self.chats.doings(each)
        async with Bot.ready(self.world, self.path) as bot:
            for life in range(kills):
                calls = len(self.world.calls)
                await bot.start()
                if self.chance.random() < 0.9:
                    # The others are killed while they start.
                    await self._listening(calls)
                for doing in doings[len(doings) * life // kills : len(doings) * (life + 1) // kills]:
                    doing()
                    await self._wait(self.chance.randint(0, 3))
                await self._wait(self.chance.randint(0, 15))
                await asyncio.sleep(self.chance.uniform(0, 0.02))
                await self._kill(bot, self.chance.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM]))
            await bot.start()
            await self.world.until(self._is_idle, 60)
            self.chats.tap_what_is_left()
            await self.world.until(self._is_idle, 60)
            await bot.end(signal.SIGTERM)

    async def _kill(self, bot: Bot, number: signal.Signals) -> None:
        # A process that has just begun knows no signal yet.
        assert await bot.end(number) in ((0, -number) if number == signal.SIGTERM else (-number,))
        # What the process had sent when it ended arrives a moment later.
        await asyncio.sleep(0.01)
        last = {message["chat"]["id"]: message["message_id"] for message in self.world.sent}
        self.unsure.update(last.values())

    async def _listening(self, calls: int) -> None:
        """Wait until the bot asks for updates; the calls before its start do not count."""
        await self.world.until(lambda: any(method == "getUpdates" for method, _ in self.world.calls[calls:]))

    async def _wait(self, calls: int) -> None:
        """Wait until the bot has made so many calls, or has nothing to do."""
        goal = len(self.world.calls) + calls
        await self.world.until(lambda: len(self.world.calls) >= goal or self._is_idle())

    def _is_idle(self) -> bool:
        """Tell whether the bot has taken all updates and done what they ask for."""
        if self.world.waiting or not self.path.exists():
            return False
        with closing(sqlite3.connect(self.path)) as database:
            try:
                return bool(database.execute(OPEN).fetchone()[0] == 0)
            except sqlite3.OperationalError:
                # The first process has not made the table yet.
                return False


@dataclass
class Outcome:
    """What is shown and what is stored after all."""

    kills: Kills
    lines: dict[str, list[TranscriptLine]]
    """By thread."""
    twice: int = 0
    """Messages that are shown twice."""

    @classmethod
    async def read(cls, kills: Kills) -> "Outcome":
        """Read what is stored; nothing may be left to do."""
        async with stage(kills.path, Script().models(ROLES)) as assistant:
            assert await assistant.memory.updates.open(door_of(BOT["id"])) == []
            threads = [info.thread for info in await assistant.threads()]
            assert [await assistant.memory.transcript.open_entries(thread) for thread in threads] == [[]] * len(threads)
            return cls(kills, {thread: await assistant.memory.transcript.lines(thread) for thread in threads})

    def check(self) -> None:
        """Hold what is shown and stored against what people did."""
        self._check_words()
        self._check_own_answers()
        for thread, lines in self.lines.items():
            self._check_thread(thread, lines)

    def _check_words(self) -> None:
        """Every text was heard once; of a changed one as it was or as it is, and both if it was answered anew."""
        user_texts = [line.text for lines in self.lines.values() for line in lines if line.role == "user"]
        heard = Counter(word for text in user_texts for word in text.split() if word[0] == "w")
        for edit in self.kills.chats.edits:
            offers = [message for message in self._shown(EDITED) if _answered(message) == edit.message["message_id"]]
            assert heard[edit.old] == bool(offers), edit
            assert heard[edit.new] == (edit.is_anew or not offers), edit
            self._count(offers, 1 if offers else 0)
            del heard[edit.old], heard[edit.new]
        assert heard == Counter(self.kills.chats.words)

    def _check_own_answers(self) -> None:
        """Every command was answered, and so was everything that the bot cannot read; nobody is asked any more."""
        for chat, command in self.kills.chats.commands:
            self._count(self._shown(f"There is no /{command}.", chat), 1)
        for chat, number in self.kills.chats.voices.items():
            self._count(self._shown(HINT, chat), number)
        self._count(self._shown(HELLO, GROUP), self.kills.chats.greetings)
        labels = [_label for message in self.kills.world.sent for _label in _labels(message)]
        assert NO not in labels

    def _check_thread(self, thread: str, lines: Sequence[TranscriptLine]) -> None:
        """The chat shows what memory has, character for character and in its order."""
        place = ThreadNames().place(thread)
        assert place
        shown = [
            message
            for message in self.kills.world.sent
            if message["chat"]["id"] == place.chat
            and message.get("message_thread_id") == place.topic
            and (message["text"][0] in "wé…" or STOP in _labels(message))
        ]
        stored = [page.text for line in lines if line.role == "assistant" for page in pages(line.text)]
        # From the end: of two copies the first is the one whose arrival nobody knew of.
        remaining = reversed(shown)
        for text in reversed(stored):
            message = next(remaining, None)
            while message and message["text"] != text:
                self._count([message], 0)
                message = next(remaining, None)
            assert message, f"{thread}: nobody sees {text[:60]}"
        self._count([*remaining], 0)

    def _shown(self, text: str, chat: int | None = None) -> list[dict[str, Any]]:
        """Return the messages of the bot with this in their text."""
        messages = [message for message in self.kills.world.sent if text in message["text"]]
        return [message for message in messages if chat in (None, message["chat"]["id"])]

    def _count(self, messages: Sequence[dict[str, Any]], due: int) -> None:
        """Count what is shown beyond what is due; there may be more only where nobody knew of an arrival."""
        unsure = sum(message["message_id"] in self.kills.unsure for message in messages)
        beyond = len(messages) - due
        assert 0 <= beyond <= unsure, [message["text"][:60] for message in messages]
        self.twice += beyond


def _answered(message: dict[str, Any]) -> int | None:
    """Return the number of the message that a message answers."""
    number: int | None = message.get("reply_to_message", {}).get("message_id")
    return number


def _labels(message: dict[str, Any]) -> Iterator[str]:
    """Yield what stands on a message's buttons."""
    for row in message.get("reply_markup", {}).get("inline_keyboard", []):
        yield from (button["text"] for button in row)


async def killed_bot(path: Path, kills: int, each: int) -> Outcome:
    """Let six people bring so many updates each to a bot that is killed so often, and check what came of it."""
    chance, world = random.Random(SEED), BotApi()
    async with world.serving():
        bot = Kills(world, path, BusyChats(world, chance), chance)
        await bot.run(kills, each)
    outcome = await Outcome.read(bot)
    outcome.check()
    return outcome


@pytest.mark.slow
async def test_a_bot_that_is_killed_often(tmp_path: Path) -> None:
    """Many kills, a hundred updates each; `BOT_KILLS` and `BOT_UPDATES` ask for other numbers."""
    begun = asyncio.get_running_loop().time()
    outcome = await killed_bot(tmp_path / "bot.db", KILLS, EACH)
    seconds = asyncio.get_running_loop().time() - begun
    sys.stdout.write(f"{KILLS} kills, {6 * EACH} updates, {outcome.twice} shown twice, {seconds:.0f} s\n")
    assert outcome.twice <= KILLS / 2
