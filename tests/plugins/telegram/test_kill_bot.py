"""The bot's process is killed at random moments: every update is handled once, and what is shown is what is stored."""

import asyncio
import os
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agents.memory.inbox import TO, TranscriptLine
from app.plugins.telegram.delivery.pages import pages
from app.plugins.telegram.place import ThreadNames, door_of
from app.testing.script import Script
from prompts import sentence
from tests.plugins.telegram.busy_chats import GROUP, NO, PEOPLE, BusyChats
from tests.plugins.telegram.kills import Kills
from tests.support.killable_door import WORD
from tests.support.scripted_assistant import ROLES, stage
from tests.support.telegram_server import BOT, BotApi

SEED = int(os.environ.get("BOT_SEED", "14"))
KILLS, EACH = int(os.environ.get("BOT_KILLS", "8")), int(os.environ.get("BOT_UPDATES", "8"))
"""The number of kills of the slow run, and of updates of each person."""
HINT, EDITED = sentence("telegram/phrases", "only_text", "en"), sentence("telegram/phrases", "edited", "en")
HELLO = sentence("telegram/phrases", "group_hello", "en", name="sue_bot")
STOP = sentence("telegram/phrases", "stop", "en")


@dataclass
class Outcome:
    """The shown and the stored state at the end."""

    kills: Kills
    chats: BusyChats
    lines: dict[str, list[TranscriptLine]]
    """By thread."""

    @classmethod
    async def read(cls, kills: Kills, chats: BusyChats) -> "Outcome":
        """Read the stored state; nothing may be left to do."""
        async with stage(kills.path, Script().models(ROLES)) as assistant:
            assert await assistant.memory.updates.open(door_of(BOT["id"])) == []
            threads = [info.thread for info in await assistant.threads()]
            assert [await assistant.memory.transcript.open_entries(thread) for thread in threads] == [[]] * len(threads)
            return cls(kills, chats, {thread: await assistant.memory.transcript.lines(thread) for thread in threads})

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
        for edit in self.chats.edits:
            offers = [message for message in self._shown(EDITED) if _answered(message) == edit.message["message_id"]]
            assert heard[edit.old] == bool(offers), edit
            assert heard[edit.new] == (edit.is_anew or not offers), edit
            self.kills.count(offers, 1 if offers else 0)
            del heard[edit.old], heard[edit.new]
        assert heard == Counter(self.chats.words)

    def _check_own_answers(self) -> None:
        """Every command was answered, and so was everything that the bot cannot read; nobody is asked any more."""
        for chat, command in self.chats.commands:
            self.kills.count(self._shown(f"There is no /{command}.", chat), 1)
        for chat, number in self.chats.voices.items():
            self.kills.count(self._shown(HINT, chat), number)
        self.kills.count(self._shown(HELLO, GROUP), self.chats.greetings)
        labels = [_label for message in self.kills.world.sent for _label in _labels(message)]
        assert NO not in labels

    def _check_thread(self, thread: str, lines: Sequence[TranscriptLine]) -> None:
        """The chat shows each person what memory has for them, character for character and in its order."""
        place = ThreadNames().place(thread)
        assert place
        shown = [
            message
            for message in self.kills.world.sent
            if message["chat"]["id"] == place.chat
            and message.get("message_thread_id") == place.topic
            and (WORD.search(message["text"]) or message["text"][0] == "…" or STOP in _labels(message))
        ]
        answers = [line for line in lines if line.role == "assistant"]
        for person in PEOPLE:
            if person.chat == place.chat:
                own = [line for line in answers if line.metadata.get(TO, thread) in (thread, f"telegram-{person.user}")]
                to_person = [
                    message for message in shown if place.chat > 0 or self.chats.person(message) == person.user
                ]
                self.kills.compare(to_person, [page.text for line in own for page in pages(line.text)])

    def _shown(self, text: str, chat: int | None = None) -> list[dict[str, Any]]:
        """Return the messages of the bot with this in their text."""
        messages = [message for message in self.kills.world.sent if text in message["text"]]
        return [message for message in messages if chat in (None, message["chat"]["id"])]


def _answered(message: dict[str, Any]) -> int | None:
    """Return the number of the message that a message answers."""
    number: int | None = message.get("reply_to_message", {}).get("message_id")
    return number


def _labels(message: dict[str, Any]) -> Iterator[str]:
    """Yield the labels of a message's buttons."""
    for row in message.get("reply_markup", {}).get("inline_keyboard", []):
        yield from (button["text"] for button in row)


async def killed_bot(path: Path, kills: int, each: int) -> Outcome:
    """Let six people bring so many updates each to a bot that is killed so often, and check what came of it."""
    chance, world = random.Random(SEED), BotApi()
    async with world.serving():
        chats = BusyChats(world, chance)
        bot = Kills(world, path, chats, chance)
        await bot.run(kills, each)
    outcome = await Outcome.read(bot, chats)
    outcome.check()
    return outcome


@pytest.mark.slow
async def test_a_bot_that_is_killed_often(tmp_path: Path) -> None:
    """Eight kills, eight updates each; `BOT_KILLS` and `BOT_UPDATES` ask for other numbers."""
    begun = asyncio.get_running_loop().time()
    outcome = await killed_bot(tmp_path / "bot.db", KILLS, EACH)
    seconds = asyncio.get_running_loop().time() - begun
    sys.stdout.write(f"{KILLS} kills, {6 * EACH} updates, {outcome.kills.twice} shown twice, {seconds:.0f} s\n")
