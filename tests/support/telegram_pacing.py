"""Telegram in simulated time: what a bot sends is noted with its time, and refused when it is too much."""

import asyncio
import os
from collections import Counter, deque
from typing import Any, cast
from unittest.mock import AsyncMock

from langgraph.store.memory import InMemoryStore
from telegram import Bot, Message
from telegram.error import RetryAfter

from agents.events import Event, Token
from app.assistant import Assistant
from app.doors.telegram.delivery.sender import Sender
from app.doors.telegram.door import TelegramDoor
from tests.support.fake_assistant import StandIn
from tests.support.simulated_time import now
from tests.support.telegram_flood import Flood

FRAMES = ("draft", "typing", "edit")


class PacedBot:
    """A bot whose requests succeed at once, unless more than `most` were made in the last `window` seconds."""

    username = "sue_bot"

    def __init__(self, most: int = 1000, window: float = 1.0) -> None:
        self.made: list[tuple[float, str, int, str]] = []
        """Time, kind, chat and text of what was taken."""
        self.refused: Counter[str] = Counter()
        self.flood: Flood | None = None
        """Telegram's limits for a chat, if they are on."""
        self._refuse: dict[str, deque[float]] = {}
        self.takes = 0.0
        """Seconds that a message takes."""
        self.labels: list[str] = []
        """What stands on the buttons of the message that had any."""
        os.environ.setdefault("PTB_TIMEDELTA", "true")
        self._limit, self._window, self._times = most, window, deque[float]()

    @property
    def bot(self) -> Bot:
        """Return it as what the sender takes it for."""
        return cast(Bot, self)

    def kinds(self, chat: int) -> list[str]:
        """Return the kinds of what was sent to a chat."""
        return [kind for _, kind, to, _ in self.made if to == chat]

    def refuse_next(self, kind: str, *seconds: float) -> None:
        """Refuse the next requests of a kind, each with a pause that is asked for."""
        self._refuse[kind] = deque(seconds)

    def times(self, kind: str) -> list[float]:
        """Return when something of a kind was sent."""
        return [at for at, made, _, _ in self.made if made == kind]

    async def send_message(self, chat_id: int, text: str, **options: Any) -> Message:
        """Take a message."""
        await asyncio.sleep(self.takes)
        self._take("message", chat_id, text)
        if markup := options.get("reply_markup"):
            self.labels = [button.text for row in markup.inline_keyboard for button in row]
        return cast(Message, type("Sent", (), {"message_id": len(self.made)}))

    async def send_message_draft(self, chat: int, draft: int, text: str | None, **options: Any) -> bool:
        """Take a draft."""
        return self._take("draft", chat, text or "")

    async def edit_message_text(self, text: str, chat_id: int, message_id: int, **options: Any) -> bool:
        """Take an edit."""
        return self._take("edit" if options.get("reply_markup") else "message", chat_id, text)

    async def send_chat_action(self, chat: int, action: str, **options: Any) -> bool:
        """Take a sign of typing."""
        return self._take("typing", chat, "")

    async def delete_message(self, chat: int, message: int) -> bool:
        """Take a deletion."""
        return self._take("deletion", chat, "")

    def _take(self, kind: str, chat: int, text: str) -> bool:
        waiting = self._refuse.get(kind)
        wait = waiting.popleft() if waiting else self.flood and self.flood.retry_after(f"send {kind}", chat)
        if wait:
            self.refused[kind] += 1
            raise RetryAfter(int(wait))
        while self._times and self._times[0] <= now() - self._window:
            self._times.popleft()
        if len(self._times) >= self._limit:
            self.refused[kind] += 1
            raise RetryAfter(5)
        self._times.append(now())
        self.made.append((now(), kind, chat, text))
        return True


class Paced(StandIn):
    """An assistant whose events come at given times: each event stands behind the seconds before it."""

    def __init__(self, *turns: list[tuple[float, Event]]) -> None:
        super().__init__()
        self.memory = type("Memory", (), {"store": InMemoryStore(), "updates": AsyncMock()})
        self._paced = list(turns)
        self.first_token = 0.0

    async def play(self, turn: Any) -> Any:
        """Yield the events of the next turn at their times."""
        for seconds, event in self._paced.pop(0):
            await asyncio.sleep(seconds)
            if isinstance(event, Token):
                self.first_token = self.first_token or now()
            yield event


def paced_door(bot: PacedBot, *turns: list[tuple[float, Event]]) -> tuple[TelegramDoor, Paced]:
    """Return a door whose assistant plays these turns."""
    assistant = Paced(*turns)
    return TelegramDoor(cast(Assistant, assistant), Sender(bot.bot), lang="en"), assistant
