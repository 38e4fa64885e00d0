"""Sending to Telegram: every message arrives, in order within a chat, however long Telegram makes it wait."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Literal
from weakref import WeakValueDictionary

from telegram import Bot, InlineKeyboardMarkup, InputFile, LinkPreviewOptions
from telegram.constants import ChatAction
from telegram.error import BadRequest, ChatMigrated, Forbidden, NetworkError, RetryAfter, TelegramError

from app.telegram.buttons import without_links
from app.telegram.pages import Page, pages

LOG = logging.getLogger(__name__)
PATIENCE = 600.0
"""Seconds for which a message is tried again while Telegram cannot be reached."""
FIRST_WAIT = 1.0
LONGEST_WAIT = 30.0
NO_PREVIEW = LinkPreviewOptions(is_disabled=True)
Keyboard = InlineKeyboardMarkup | None

Fate = Literal["sent", "refused", "lost"]


class Gone(Exception):
    """The chat cannot be written to: the user has blocked the bot, or it was thrown out."""


class Sender:
    """Send texts and documents, one at a time per chat."""

    def __init__(self, bot: Bot) -> None:
        self._bot = bot
        self._locks: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()
        self._slowed: set[int] = set()

    async def say(self, chat: int, text: str, *, is_markdown: bool = True, keyboard: Keyboard = None) -> bool:
        """Send a text in as many messages as it takes; the last one carries the buttons.

        Returns False if Telegram was out of reach for too long. What Telegram refuses as it is counts as sent.

        Raises:
            Gone: the chat cannot be written to.
        """
        return await self.show(chat, pages(text, is_markdown=is_markdown), keyboard)

    async def show(self, chat: int, pages: Sequence[Page], keyboard: Keyboard = None) -> bool:
        """Send pages, the last one with the buttons; what comes of them is as `say` tells.

        Raises:
            Gone: the chat cannot be written to.
        """
        async with self._lock(chat):
            sent = [await self._page(chat, page, keyboard if page is pages[-1] else None) for page in pages]
        return "lost" not in sent

    async def hand(self, chat: int, name: str, text: str) -> bool:
        """Send a document; False if Telegram refuses it.

        Raises:
            Gone: the chat cannot be written to.
        """
        document = text.encode("utf-8", "replace") or b"\n"
        async with self._lock(chat):
            send = partial(self._bot.send_document, chat, InputFile(document, filename=name))
            return await self._deliver(chat, send) != "refused"

    async def typing(self, chat: int) -> None:
        """Show that an answer is being made; it is no loss if that does not arrive."""
        if chat not in self._slowed:
            with suppress(TelegramError):
                await self._bot.send_chat_action(chat, ChatAction.TYPING)

    def _lock(self, chat: int) -> asyncio.Lock:
        return self._locks.setdefault(chat, asyncio.Lock())

    async def _page(self, chat: int, page: Page, keyboard: Keyboard) -> Fate:
        """Send a page; what Telegram refuses comes without formatting, then without links, then without buttons."""
        send = partial(self._bot.send_message, chat, page.text, link_preview_options=NO_PREVIEW)
        fate: Fate = "refused"
        tries = [(page.entities, keyboard), ((), keyboard), ((), keyboard and without_links(keyboard)), ((), None)]
        for entities, buttons in dict.fromkeys(tries):
            fate = await self._deliver(chat, partial(send, entities=entities or None, reply_markup=buttons))
            if fate != "refused":
                break
        return fate

    async def _deliver(self, chat: int, send: Callable[[], Awaitable[object]]) -> Fate:
        """Send until it is sent or refused, or Telegram was out of reach for too long."""
        wait, until = FIRST_WAIT, time.monotonic() + PATIENCE
        while True:
            try:
                await send()
            except RetryAfter as limit:
                await self._slow_down(chat, limit)
            except (Forbidden, ChatMigrated) as gone:
                raise Gone from gone
            except BadRequest:
                LOG.warning("chat %s: Telegram refuses a message as it is", chat)
                return "refused"
            except NetworkError as failure:
                if time.monotonic() > until:
                    LOG.error("chat %s: a message could not be sent (%s)", chat, type(failure).__name__)
                    return "lost"
                await asyncio.sleep(wait)
                wait = min(wait * 2, LONGEST_WAIT)
            else:
                return "sent"

    async def _slow_down(self, chat: int, limit: RetryAfter) -> None:
        after = limit.retry_after
        self._slowed.add(chat)
        try:
            await asyncio.sleep(after.total_seconds() if isinstance(after, timedelta) else after)
        finally:
            self._slowed.discard(chat)
