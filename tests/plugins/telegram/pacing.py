"""Telegram in simulated time: it notes each request of a bot with its time, and refuses what is too much."""

import asyncio
import json
import os
from collections import Counter, deque
from typing import Any, cast
from unittest.mock import AsyncMock

from langgraph.store.memory import InMemoryStore
from telegram.request import BaseRequest, RequestData

from agents.events import Event, Token
from app.assistant import Assistant
from app.plugins.telegram.bot import ServiceBot
from app.plugins.telegram.delivery.sender import Sender
from app.plugins.telegram.door import TelegramDoor
from tests.support.fake_assistant import StandIn
from tests.support.simulated_time import now
from tests.support.telegram_flood import Flood
from tests.support.telegram_server import TOKEN

FRAMES = ("draft", "typing", "edit")
KINDS = {
    "sendMessage": "message",
    "sendMessageDraft": "draft",
    "editMessageText": "edit",
    "sendChatAction": "typing",
    "deleteMessage": "deletion",
}


class PacedTelegram(BaseRequest):
    """Telegram as a bot reaches it: it takes all requests, unless more than `most` come in `window` seconds."""

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
        """The labels of the buttons, from the last message with buttons."""
        self._limit, self._window, self._times = most, window, deque[float]()

    @property
    def read_timeout(self) -> float:
        """Return a read timeout that no test reaches."""
        return 1.0

    async def initialize(self) -> None:
        """Need nothing."""

    async def shutdown(self) -> None:
        """Leave nothing."""

    def kinds(self, chat: int) -> list[str]:
        """Return the kinds of the requests to a chat."""
        return [kind for _, kind, to, _ in self.made if to == chat]

    def refuse_next(self, kind: str, *seconds: float) -> None:
        """Refuse the next requests of a kind, and ask for a pause after each."""
        self._refuse[kind] = deque(seconds)

    def times(self, kind: str) -> list[float]:
        """Return the times of the requests of a kind."""
        return [at for at, made, _, _ in self.made if made == kind]

    async def do_request(
        self, url: str, method: str, request_data: RequestData | None = None, *_: Any, **__: Any
    ) -> tuple[int, bytes]:
        """Take a request or refuse it."""
        sent: dict[str, Any] = request_data.parameters if request_data else {}
        kind, chat, markup = KINDS[url.rpartition("/")[2]], sent["chat_id"], sent.get("reply_markup")
        if kind == "message":
            await asyncio.sleep(self.takes)
            if markup:
                self.labels = [button["text"] for row in markup["inline_keyboard"] for button in row]
        if kind == "edit" and not markup:
            kind = "message"
        if wait := self._wait(kind, chat):
            self.refused[kind] += 1
            more = {"error_code": 429, "description": "Too Many Requests", "parameters": {"retry_after": int(wait)}}
            return 429, json.dumps({"ok": False, **more}).encode()
        self.made.append((now(), kind, chat, sent.get("text", "")))
        place = {"message_id": len(self.made), "date": 0, "chat": {"id": chat, "type": "private"}}
        return 200, json.dumps({"ok": True, "result": place if kind in ("message", "edit") else True}).encode()

    def _wait(self, kind: str, chat: int) -> float:
        """Return for how many seconds a request is refused; 0 if it is taken."""
        if waiting := self._refuse.get(kind):
            return waiting.popleft()
        if self.flood and (wait := self.flood.retry_after(f"send {kind}", chat)):
            return wait
        while self._times and self._times[0] <= now() - self._window:
            self._times.popleft()
        if len(self._times) >= self._limit:
            return 5
        self._times.append(now())
        return 0


def paced_sender(telegram: PacedTelegram) -> Sender:
    """Return a sender whose bot reaches this Telegram."""
    os.environ.setdefault("PTB_TIMEDELTA", "true")
    return Sender(ServiceBot(TOKEN, "http://telegram.test", telegram))


class Paced(StandIn):
    """An assistant whose events come at given times: the number before an event is its wait in seconds."""

    def __init__(self, *turns: list[tuple[float, Event]]) -> None:
        super().__init__()
        self.memory = type(
            "Memory", (), {"store": InMemoryStore(), "locks": None, "updates": AsyncMock(), "feedback": AsyncMock()}
        )
        self._paced = list(turns)
        self.first_token = 0.0

    async def play(self, turn: Any) -> Any:
        """Yield the events of the next turn at their times."""
        for seconds, event in self._paced.pop(0):
            await asyncio.sleep(seconds)
            if isinstance(event, Token):
                self.first_token = self.first_token or now()
            yield event


def paced_door(bot: PacedTelegram, *turns: list[tuple[float, Event]]) -> tuple[TelegramDoor, Paced]:
    """Return a door whose assistant plays these turns."""
    assistant = Paced(*turns)
    return TelegramDoor(cast(Assistant, assistant), paced_sender(bot), lang="en"), assistant
