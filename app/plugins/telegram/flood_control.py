"""The pace of the bot's requests: below Telegram's limits, in all and in each chat, with the pauses it asks for."""

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
"""The mark of an unimportant request: it is made at once or not at all."""
FRAME: Rank = "frame"
Result = bool | dict[str, object] | list[dict[str, object]]
Request = Callable[[], Awaitable[Result]]
MOST_CHATS = 10_000
"""The number of kept allowances. After so many other chats, an allowance is full again anyway."""
SHORTEST_WAIT = 0.01
"""The shortest wait, in seconds."""
BOT = 10.0, 20.0
"""Requests of the bot at once, and then per second: never more than Telegram's 30 a second."""
PRIVATE = 4.0, 1.0
"""Requests to a private chat at once, and then per second; Telegram takes one a second and short bursts."""
GROUP = 5.0, 1 / 4
"""Requests to a group at once, and then per second: never more than Telegram's 20 a minute."""
BOT_RESERVE, CHAT_RESERVE = 5.0, 1.0
"""The requests that frames leave for messages: of the bot, and of a chat."""


class NoRoom(TelegramError):
    """A frame was left out: messages wait, or Telegram takes no more now."""

    def __init__(self) -> None:
        super().__init__("no room for a frame")


class Allowance:
    """The requests allowed now, the rate of further ones per second, and the pause that Telegram has asked for."""

    def __init__(self, most: float, rate: float) -> None:
        self._most, self._rate = most, rate
        self._left, self._at, self._paused_until = most, loop_time(), 0.0

    @property
    def left(self) -> float:
        """The number of allowed requests."""
        now = loop_time()
        self._left, self._at = min(self._most, self._left + (now - self._at) * self._rate), now
        return self._left

    @property
    def wait(self) -> float:
        """Seconds until the next allowed request."""
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
        """The number of waiting and running requests, without frames."""


class FloodControl(BaseRateLimiter[Rank]):
    """Makes requests when their time has come. Messages wait for it; frames give way to messages."""

    def __init__(self) -> None:
        self._bot = Allowance(*BOT)
        self._queue = lru_cache(MOST_CHATS)(ChatQueue)
        self._refused: int | None = None
        """The chat of the last refusal, if no request was accepted anywhere since."""

    async def initialize(self) -> None:
        """Do nothing: there is nothing to prepare."""

    async def shutdown(self) -> None:
        """Do nothing: there is nothing to release."""

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
                # Other chats may use the bot's allowance meanwhile.
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
        # Telegram does not name the limit: refusals in two chats without an accepted request between mean the bot's.
        if self._refused not in (None, queue.chat):
            self._bot.pause(seconds)
        self._refused = queue.chat
        queue.pause(seconds)
