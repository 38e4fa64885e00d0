"""The pace of the bot's requests: below what Telegram takes in all and in each chat, with the pauses it asks for."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from datetime import timedelta
from functools import lru_cache, partial
from typing import Any, Literal

from telegram.error import RetryAfter, TelegramError
from telegram.ext import BaseRateLimiter

from app.process.tasks import loop_time

Rank = Literal["frame"]
"""Marks a request that nobody misses: it is made at once or not at all."""
FRAME: Rank = "frame"
Result = bool | dict[str, object] | list[dict[str, object]]
Request = Callable[[], Awaitable[Result]]
MOST_CHATS = 10_000
"""Chats whose allowance is kept. After so many other chats an allowance is full again anyway."""
SHORTEST_WAIT = 0.01
"""The shortest wait, in seconds."""
BOT = 10.0, 20.0
"""Requests of the bot at once, and then per second: never more than the 30 a second that Telegram takes."""
PRIVATE = 4.0, 1.0
"""Requests to a private chat at once, and then per second; Telegram takes one a second and short bursts."""
GROUP = 5.0, 1 / 4
"""Never more than the 20 a minute that Telegram takes in a group."""
BOT_RESERVE, CHAT_RESERVE = 5.0, 1.0
"""What frames leave over for messages."""


class NoRoom(TelegramError):
    """A frame was left out: messages wait, or Telegram takes no more now."""

    def __init__(self) -> None:
        super().__init__("no room for a frame")


class Allowance:
    """Requests that may be made now, and how many more a second, with the pause that Telegram has asked for."""

    def __init__(self, most: float, rate: float) -> None:
        self._most, self._rate = most, rate
        self._left, self._at, self._paused_until = most, loop_time(), 0.0

    @property
    def left(self) -> float:
        """How many requests may be made."""
        now = loop_time()
        self._left, self._at = min(self._most, self._left + (now - self._at) * self._rate), now
        return self._left

    @property
    def wait(self) -> float:
        """Seconds for which no request may be made."""
        return max(self._paused_until - loop_time(), (1 - self.left) / self._rate)

    def take(self) -> None:
        """Count a request."""
        self._left = self.left - 1

    def pause(self, seconds: float) -> None:
        """Allow nothing for so many seconds."""
        self._paused_until = max(self._paused_until, loop_time() + seconds)


class ChatQueue(Allowance):
    """The requests to one chat: one at a time, in their order."""

    def __init__(self, chat: int) -> None:
        super().__init__(*(GROUP if chat < 0 else PRIVATE))
        self.chat, self.lock = chat, asyncio.Lock()
        self.messages = 0
        """Requests that wait or are being made, without frames."""


class FloodControl(BaseRateLimiter[Rank]):
    """Make requests when their time has come. Messages wait for it; frames give way to them."""

    def __init__(self) -> None:
        self._bot = Allowance(*BOT)
        self._queue = lru_cache(MOST_CHATS)(ChatQueue)
        self._refused: int | None = None
        """The chat in which a request was refused, with none accepted anywhere since."""

    async def initialize(self) -> None:
        """Need nothing."""

    async def shutdown(self) -> None:
        """Leave nothing behind."""

    async def process_request(
        self,
        callback: Callable[..., Coroutine[object, object, Result]],
        args: Any,
        kwargs: dict[str, object],
        endpoint: str,
        data: dict[str, object],
        rate_limit_args: Rank | None,
    ) -> Result:
        """Make a request when there is room for it. Raises NoRoom if there is none for a frame."""
        chat, request = data.get("chat_id"), partial(callback, *args, **kwargs)
        if not isinstance(chat, int) or endpoint.startswith("get"):
            return await request()
        queue = self._queue(chat)
        if rate_limit_args == FRAME:
            if not self._admits_frame(queue):
                raise NoRoom
            async with queue.lock:
                return await self._make(queue, request)
        queue.messages += 1
        try:
            async with queue.lock:
                return await self._make_in_time(queue, request)
        finally:
            queue.messages -= 1

    async def _make_in_time(self, queue: ChatQueue, request: Request) -> Result:
        while True:
            if (seconds := max(self._bot.wait, queue.wait)) > 0:
                # The bot's allowance may be used by others meanwhile.
                await asyncio.sleep(max(seconds, SHORTEST_WAIT))
                continue
            with suppress(RetryAfter):
                return await self._make(queue, request)

    async def _make(self, queue: ChatQueue, request: Request) -> Result:
        self._bot.take()
        queue.take()
        try:
            result = await request()
        except RetryAfter as limit:
            after = limit.retry_after
            self._pause(queue, after.total_seconds() if isinstance(after, timedelta) else after)
            raise
        self._refused = None
        return result

    def _admits_frame(self, queue: ChatQueue) -> bool:
        return (
            queue.messages == 0
            and max(self._bot.wait, queue.wait) <= 0
            and self._bot.left >= BOT_RESERVE + 1
            and queue.left >= CHAT_RESERVE + 1
        )

    def _pause(self, queue: ChatQueue, seconds: float) -> None:
        # Telegram does not say what it means: if it refuses two chats and accepts nothing in between, it is the bot.
        if self._refused not in (None, queue.chat):
            self._bot.pause(seconds)
        self._refused = queue.chat
        queue.pause(seconds)
