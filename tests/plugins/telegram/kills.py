"""A bot whose process is killed while people write to it."""

import random
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from tests.plugins.telegram.killable_bot import Bot
from tests.support.telegram_server import BotApi
from tests.support.until import moment

OPEN = "SELECT count(*) FROM updates WHERE body IS NOT NULL"


class Doings(Protocol):
    """People's actions."""

    def doings(self, each: int) -> list[Callable[[], None]]:
        """Return everybody's updates, so many for each, in random order."""

    def do_what_is_left(self) -> None:
        """Do the remaining actions at the end."""

    def person(self, message: dict[str, Any]) -> int | None:
        """Return the user for whom a message of the bot is; None if it is for nobody in particular."""


@dataclass
class Kills:
    """A bot that is killed while people write to it."""

    world: BotApi
    path: Path
    chats: Doings
    chance: random.Random
    unsure: set[int] = field(default_factory=set)
    """The last messages to each person of a place when the process was killed: nobody knew of their arrival."""
    twice: int = 0
    """Messages that are shown twice."""

    async def run(self, kills: int, each: int) -> None:
        """Let people bring so many updates each while the process is killed so often; at last it does what is left."""
        doings = self.chats.doings(each)
        async with Bot.ready(self.world.url, self.path) as bot:
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
                await moment(0.02, chance=self.chance)
                await self._kill(bot, self.chance.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM]))
            await bot.start()
            await self.world.until(self._is_idle)
            self.chats.do_what_is_left()
            await self.world.until(self._is_idle)
            await bot.end(signal.SIGTERM)

    def count(self, messages: list[dict[str, Any]], due: int) -> None:
        """Count the messages beyond the due ones; more are allowed only after an arrival that nobody knew of."""
        unsure = sum(message["message_id"] in self.unsure for message in messages)
        beyond = len(messages) - due
        assert 0 <= beyond <= unsure, [message["text"][:60] for message in messages]
        self.twice += beyond

    def compare(self, shown: list[dict[str, Any]], stored: list[str]) -> None:
        """Hold what a chat shows against what memory has, in order; copies are those whose arrival nobody knew of."""
        # What the door itself remarks on is nobody's answer.
        shown = [message for message in shown if not message["text"].startswith("ℹ️")]
        # Texts may be equal, so several may be the copy: how many of what is stored may have been shown so far.
        places = {0}
        for message in shown:
            turns = {place + 1 for place in places if stored[place : place + 1] == [message["text"]]}
            kept = places if message["message_id"] in self.unsure else set()
            assert turns | kept, (
                f"{message['message_id']} is shown after {max(places)} of {len(stored)}: {message['text'][:60]}"
            )
            places = turns | kept
        assert len(stored) in places, (
            f"nobody sees {stored[max(places)][:60]}; stored last: {[text[:60] for text in stored[-5:]]}; shown last: "
            f"{[(each['message_id'], each['message_id'] in self.unsure, each['text'][:60]) for each in shown[-8:]]}; "
            f"its calls: {[call for call in self.world.calls if stored[max(places)][:16] in str(call)]}"
        )
        self.twice += len(shown) - len(stored)

    async def _kill(self, bot: Bot, number: signal.Signals) -> None:
        # A process that has just begun knows no signal yet.
        assert await bot.end(number) in ((0, -number) if number == signal.SIGTERM else (-number,))
        # What the process had sent when it ended arrives a moment later, and is read in some turns of the loop.
        await moment(0.05, 0.05)
        last = {self._queue(message): message["message_id"] for message in self.world.sent}
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

    def _queue(self, message: dict[str, Any]) -> tuple[int, int | None, int | None]:
        """Return the place and the person for whom the bot sends one message after the other."""
        return message["chat"]["id"], message.get("message_thread_id"), self.chats.person(message)
