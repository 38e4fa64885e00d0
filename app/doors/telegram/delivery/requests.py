"""Requests to Telegram's chats, one at a time in each: messages until they arrive, frames if there is room for them."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import Literal, TypeVar
from weakref import WeakValueDictionary

from telegram import Message
from telegram.error import BadRequest, ChatMigrated, Forbidden, NetworkError, RetryAfter

from app.doors.telegram.delivery.flood_control import FloodControl
from app.doors.telegram.delivery.retries import retrying, seconds
from app.doors.telegram.place import ThreadNames

LOG = logging.getLogger(__name__)
PATIENCE = 24 * 3600.0
"""Seconds for which a text is tried again while Telegram cannot be reached; so long it keeps updates for us, too."""
FILE_PATIENCE = 600.0
"""The same for a file, which may itself be what Telegram fails at."""
FRAME_TIMEOUT = 5.0
"""Seconds that a frame may take; the message that follows waits for it."""
UNCHANGED = "not modified"
"""What Telegram says of an edit that changes nothing."""

T = TypeVar("T")
Fate = Literal["sent", "refused", "lost"]


@dataclass(frozen=True)
class Delivery:
    """What became of a message, and its number if it is known."""

    fate: Fate
    message: int | None = None


class Gone(Exception):
    """The chat cannot be written to: the user has blocked the bot, or it was thrown out."""


class ChatRequests:
    """Make requests to chats; `away` are those that cannot be written to, as Telegram has told."""

    def __init__(self, names: ThreadNames, away: Collection[int]) -> None:
        self._names, self._away = names, away
        self._locks: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()
        self.flood = FloodControl()

    def lock(self, chat: int) -> asyncio.Lock:
        """Return what is held while a chat is sent to."""
        return self._locks.setdefault(chat, asyncio.Lock())

    async def deliver(self, chat: int, send: Callable[..., Awaitable[object]], *, is_file: bool = False) -> Delivery:
        """Send until it is sent or refused, or Telegram was out of reach for too long; `send` is given the `chat_id`.

        The caller holds the chat's lock.

        Raises:
            Gone: the chat cannot be written to.
        """

        def note(failure: BaseException) -> None:
            if isinstance(failure, RetryAfter):
                self.flood.refused(chat, seconds(failure))

        async def once() -> object:
            await self.flood.wait(chat)
            self._check_presence(chat)
            try:
                sent = await send(chat_id=self._names.now(chat))
            except ChatMigrated as migrated:
                # The group is a supergroup now, and the update that says so has not come yet.
                self._names.move(self._names.now(chat), migrated.new_chat_id)
                sent = await send(chat_id=migrated.new_chat_id)
            self.flood.accepted(chat)
            return sent

        try:
            sent: object = await retrying(note, FILE_PATIENCE if is_file else PATIENCE)(once)
        except (Forbidden, ChatMigrated) as gone:
            raise Gone from gone
        except BadRequest as refusal:
            if UNCHANGED in refusal.message:
                return Delivery("sent")
            LOG.warning("chat %s: Telegram refuses a message as it is", chat)
            return Delivery("refused")
        except NetworkError as failure:
            LOG.error("chat %s: a message could not be sent (%s)", chat, type(failure).__name__)
            return Delivery("lost")
        return Delivery("sent", sent.message_id if isinstance(sent, Message) else None)

    def _check_presence(self, chat: int) -> None:
        """Raise Gone for a chat that cannot be written to."""
        if self._names.now(chat) in self._away:
            raise Gone

    async def frame(self, chat: int, send: Callable[..., Awaitable[T]]) -> T | None:
        """Make a request that nobody misses: once, and only if nothing waits for its turn; None if it was left out.

        Raises:
            TelegramError: Telegram refuses it for good.
        """
        lock = self.lock(chat)
        if self._names.now(chat) in self._away or lock.locked() or not self.flood.admits_frame(chat):
            return None
        async with lock:
            try:
                result = await send(read_timeout=FRAME_TIMEOUT)
            except RetryAfter as limit:
                self.flood.refused(chat, seconds(limit))
                return None
            except NetworkError as failure:
                if isinstance(failure, BadRequest):
                    raise
                return None
        self.flood.accepted(chat)
        return result
