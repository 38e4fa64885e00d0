"""Sending to Telegram: every message arrives, in order within a chat, however long Telegram makes it wait."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Literal
from weakref import WeakValueDictionary

from telegram import Bot, InlineKeyboardMarkup, InputFile, ReplyKeyboardMarkup
from telegram.constants import ChatAction
from telegram.error import BadRequest, ChatMigrated, Forbidden, NetworkError, RetryAfter, TelegramError

from app.telegram.bot import NO_PREVIEW
from app.telegram.buttons import without_links
from app.telegram.pages import Page, pages
from app.telegram.retries import retrying

LOG = logging.getLogger(__name__)
PATIENCE = 600.0
"""Seconds for which a message is tried again while Telegram cannot be reached."""
Keyboard = InlineKeyboardMarkup | ReplyKeyboardMarkup | None

Fate = Literal["sent", "refused", "lost"]


class Gone(Exception):
    """The chat cannot be written to: the user has blocked the bot, or it was thrown out."""


class Sender:
    """Send texts and documents, one at a time per chat."""

    def __init__(self, bot: Bot) -> None:
        self._bot = bot
        self._locks: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()
        self._slowed: set[int] = set()
        """The chats that Telegram asks to leave alone for a while."""

    @property
    def bot_name(self) -> str:
        """The bot's user name, without the sign before it."""
        return self._bot.username

    async def say(self, chat: int, text: str, *, is_markdown: bool = True, keyboard: Keyboard = None) -> bool:
        """Send a text in as many messages as it takes; the last one carries the buttons.

        Returns False if Telegram was out of reach for too long. A text that Telegram refuses counts as sent.

        Raises:
            Gone: the chat cannot be written to.
        """
        return await self.show(chat, pages(text, is_markdown=is_markdown), keyboard)

    async def show(self, chat: int, pages: Sequence[Page], keyboard: Keyboard = None) -> bool:
        """Send pages, the last one with the buttons; returns the same as `say`.

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
        """Show that an answer is being made; a failure of this is ignored."""
        if chat not in self._slowed:
            with suppress(TelegramError):
                await self._bot.send_chat_action(chat, ChatAction.TYPING)

    def _lock(self, chat: int) -> asyncio.Lock:
        return self._locks.setdefault(chat, asyncio.Lock())

    async def _page(self, chat: int, page: Page, keyboard: Keyboard) -> Fate:
        """Send a page; if Telegram refuses it, send it without formatting, then without links, then without buttons."""
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

        def note(failure: BaseException) -> None:
            if isinstance(failure, RetryAfter):
                self._slowed.add(chat)

        try:
            await retrying(note, PATIENCE)(send)
        except (Forbidden, ChatMigrated) as gone:
            raise Gone from gone
        except BadRequest:
            LOG.warning("chat %s: Telegram refuses a message as it is", chat)
            return "refused"
        except NetworkError as failure:
            LOG.error("chat %s: a message could not be sent (%s)", chat, type(failure).__name__)
            return "lost"
        finally:
            self._slowed.discard(chat)
        return "sent"
