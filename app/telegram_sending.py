"""Sending to Telegram: every message arrives, in order within a chat, however long Telegram makes it wait."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from weakref import WeakValueDictionary

from telegram import Bot, InlineKeyboardButton, InlineKeyboardMarkup, InputFile, LinkPreviewOptions
from telegram.constants import ChatAction
from telegram.error import BadRequest, ChatMigrated, Forbidden, NetworkError, RetryAfter, TelegramError

from app.telegram_pages import Page, pages

LOG = logging.getLogger(__name__)
PATIENCE = 600.0
"""Seconds for which a message is tried again while Telegram cannot be reached."""
FIRST_WAIT = 1.0
LONGEST_WAIT = 30.0
NO_PREVIEW = LinkPreviewOptions(is_disabled=True)

Buttons = Sequence[tuple[str, str]]
"""Labels with what a tap on them sends back."""


class Gone(Exception):
    """The chat cannot be written to: the user has blocked the bot, or it was thrown out."""


class Sender:
    """Send texts and documents, one at a time per chat."""

    def __init__(self, bot: Bot) -> None:
        self._bot = bot
        self._locks: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()
        self._slowed: set[int] = set()

    async def say(self, chat: int, text: str, *, is_markdown: bool = True, buttons: Buttons = ()) -> None:
        """Send a text in as many messages as it takes; the last one carries the buttons.

        Raises:
            Gone: the chat cannot be written to.
        """
        found = pages(text, is_markdown=is_markdown)
        keyboard = InlineKeyboardMarkup([[InlineKeyboardButton(label, callback_data=data) for label, data in buttons]])
        async with self._lock(chat):
            for page in found:
                await self._page(chat, page, keyboard if buttons and page is found[-1] else None)

    async def hand(self, chat: int, name: str, text: str) -> None:
        """Send a document.

        Raises:
            Gone: the chat cannot be written to.
        """
        document = text.encode("utf-8", "replace") or b"\n"
        async with self._lock(chat):
            await self._deliver(chat, lambda: self._bot.send_document(chat, InputFile(document, filename=name)))

    async def typing(self, chat: int) -> None:
        """Show that an answer is being made; it is no loss if that does not arrive."""
        if chat not in self._slowed:
            with suppress(TelegramError):
                await self._bot.send_chat_action(chat, ChatAction.TYPING)

    def _lock(self, chat: int) -> asyncio.Lock:
        return self._locks.setdefault(chat, asyncio.Lock())

    async def _page(self, chat: int, page: Page, keyboard: InlineKeyboardMarkup | None) -> None:
        send = partial(self._bot.send_message, chat, page.text, link_preview_options=NO_PREVIEW, reply_markup=keyboard)
        if page.entities and await self._deliver(chat, partial(send, entities=page.entities)):
            return
        await self._deliver(chat, send)

    async def _deliver(self, chat: int, send: Callable[[], Awaitable[object]]) -> bool:
        """Send until it is sent, or cannot be reached for too long; False if Telegram refuses what is sent."""
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
                return False
            except NetworkError as failure:
                if time.monotonic() > until:
                    LOG.error("chat %s: a message could not be sent (%s)", chat, type(failure).__name__)
                    return True
                await asyncio.sleep(wait)
                wait = min(wait * 2, LONGEST_WAIT)
            else:
                return True

    async def _slow_down(self, chat: int, limit: RetryAfter) -> None:
        after = limit.retry_after
        self._slowed.add(chat)
        try:
            await asyncio.sleep(after.total_seconds() if isinstance(after, timedelta) else after)
        finally:
            self._slowed.discard(chat)
