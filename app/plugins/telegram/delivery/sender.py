"""Sending to Telegram: every message arrives, in order within a chat, after any wait that Telegram asks for."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Literal
from weakref import WeakValueDictionary

from telegram import InlineKeyboardMarkup, Message, ReplyKeyboardMarkup
from telegram.constants import ChatAction
from telegram.error import BadRequest, ChatMigrated, Forbidden, InvalidToken, NetworkError, RetryAfter, TelegramError

from app.plugins.telegram.bot import ServiceBot, retrying
from app.plugins.telegram.delivery.buttons import without_links
from app.plugins.telegram.delivery.pages import MessagePage, pages
from app.plugins.telegram.delivery.receipts import Receipts
from app.plugins.telegram.flood_control import FRAME, NoRoom
from app.plugins.telegram.place import TelegramPlace, ThreadNames
from app.plugins.telegram.refusal import Subject, reason, subject

LOG = logging.getLogger(__name__)
PATIENCE = 24 * 3600.0
"""Seconds of tries for a text while Telegram is out of reach; Telegram keeps updates for the same time."""
FILE_PATIENCE = 60.0
"""Seconds of tries for a file: the file itself may be the cause of the failure, and the chat waits meanwhile."""
SHORTEST = 100
"""The most characters of a text that is never cut in two, even when Telegram calls it too long."""
AS_FRAME: dict[str, Any] = {"read_timeout": 5.0, "rate_limit_args": FRAME}
"""The options of a frame's request; the next message waits no longer than these seconds for it."""

Keyboard = InlineKeyboardMarkup | ReplyKeyboardMarkup | None
Fate = int | Subject | Literal["lost"]
"""The number of the sent message, 0 if unknown; or the subject of Telegram's refusal, or "lost" without a connection.
"""
Send = Callable[..., Awaitable[object]]


class Gone(Exception):
    """The chat cannot be written to: the user has blocked the bot, or the group has removed it."""


class TextRefused(Exception):
    """Telegram takes a text in no form; the log has its reasons."""


class Sender:
    """Sends texts, one at a time per chat, and frames where there is room; raises `Gone` for a closed chat."""

    def __init__(self, bot: ServiceBot, names: ThreadNames | None = None) -> None:
        self.bot, self.names = bot, names or ThreadNames()
        self._locks: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()
        """The lock of each chat, which keeps the pages of one text together."""
        self._has_drafts = True

    async def say(
        self,
        to: TelegramPlace,
        text: str,
        *,
        is_markdown: bool = True,
        keyboard: Keyboard = None,
        receipts: Receipts | None = None,
    ) -> bool:
        """Send a text in as many messages as needed; as `show`."""
        return await self.show(to, pages(text, is_markdown=is_markdown), keyboard, receipts=receipts)

    async def show(
        self,
        to: TelegramPlace,
        pages: Sequence[MessagePage],
        keyboard: Keyboard = None,
        instead: int | None = None,
        receipts: Receipts | None = None,
    ) -> bool:
        """Send pages, the last one with the buttons; pages with a receipt are left out.

        `instead` is a message that the first page replaces. Returns False if Telegram was out of reach for too long.
        Raises Refused, after the other pages, if Telegram takes a page in no form.
        """
        fates: list[Fate] = []
        if instead and isinstance(keyboard, ReplyKeyboardMarkup):
            # An edit cannot bring buttons below the chat.
            await self.withdraw(to, instead)
            instead = None
        async with self._lock(to):
            for number, page in enumerate(pages):
                if receipts and receipts.has_next():
                    continue
                buttons = keyboard if number == len(pages) - 1 else None
                fate = await self._page(to, page, buttons, instead, is_first=number == 0)
                instead = None
                fates.append(fate)
                if receipts:
                    await receipts.note(fate if isinstance(fate, int) else None)
        if instead:
            await self.withdraw(to, instead)
        if any(isinstance(fate, str) and fate != "lost" for fate in fates):
            raise TextRefused
        return "lost" not in fates

    async def deliver(self, to: TelegramPlace, send: Send) -> int | None:
        """Send a file behind a chat's earlier messages; return its number (0: not known), or None if it is not sent.

        `send` gets the address.
        """
        async with self._lock(to):
            fate = await self._deliver(to, send, FILE_PATIENCE)
            if fate == "place" and to.topic:
                fate = await self._deliver(TelegramPlace(to.chat), send, FILE_PATIENCE)
            return fate if isinstance(fate, int) else None

    def takes_drafts(self, to: TelegramPlace) -> bool:
        """Tell whether a chat can show drafts: only a private chat can, if this Bot API server knows drafts."""
        return not to.is_group and self._has_drafts

    async def typing(self, to: TelegramPlace) -> bool:
        """Show the sign of typing, if there is room for it. Raises TelegramError if Telegram refuses it."""
        chat, place = self.names.now(to.chat), to.address(replies=False)
        return bool(await _frame(self.bot.send_chat_action(chat, ChatAction.TYPING, **AS_FRAME, **place)))

    async def draft(self, to: TelegramPlace, draft: int, page: MessagePage) -> bool:
        """Show a text as a draft with a button to stop, if there is room for it; raises as `typing`."""
        show = self.bot.send_message_draft(
            to.chat,
            draft,
            page.text or None,
            entities=page.entities or None,
            api_kwargs={"can_stop": True, "keep_on_stop": True},
            **AS_FRAME,
            **to.address(replies=False),
        )
        try:
            return bool(await _frame(show))
        except InvalidToken:
            # The library raises this error for an unknown method.
            self._has_drafts = False
            raise

    async def grow(
        self, to: TelegramPlace, message: int | None, page: MessagePage, keyboard: InlineKeyboardMarkup
    ) -> int | None:
        """Show a text in a new message, or edit that message; raises as `typing`.

        Returns the number of the message, None if there was no room for it.
        """
        chat = self.names.now(to.chat)
        options: dict[str, Any] = {"entities": page.entities or None, "reply_markup": keyboard, **AS_FRAME}
        if message is None:
            sent = await _frame(self.bot.send_message(chat, page.text, **options, **to.address()))
            return sent.message_id if isinstance(sent, Message) else None
        return message if await _frame(self.bot.edit_message_text(page.text, chat, message, **options)) else None

    async def withdraw(self, to: TelegramPlace, message: int) -> None:
        """Delete a message; a failure is ignored."""
        with suppress(TelegramError):
            await self.bot.delete_message(self.names.now(to.chat), message)

    def _lock(self, to: TelegramPlace) -> asyncio.Lock:
        return self._locks.setdefault(to.chat, asyncio.Lock())

    async def _page(
        self, to: TelegramPlace, page: MessagePage, keyboard: Keyboard, instead: int | None, *, is_first: bool
    ) -> Fate:
        """Send a page; after a refusal without formatting, links and buttons, in two halves, or outside its topic."""
        if not is_first:
            to = replace(to, message=0)
        new = partial(self.bot.send_message, text=page.text)
        sends: list[tuple[TelegramPlace, Send]] = [(to, new), *([(TelegramPlace(to.chat), new)] if to.topic else [])]
        if instead is not None:
            sends.insert(
                0, (TelegramPlace(to.chat), partial(self.bot.edit_message_text, page.text, message_id=instead))
            )
        tries = dict.fromkeys([(page.entities, keyboard), ((), keyboard), ((), keyboard and without_links(keyboard))])
        fate: Fate = "text"
        for where, send in sends:
            # A page with only one form is tried twice: a refusal may pass.
            for entities, buttons in [*tries, ((), None)]:
                fate = await self._deliver(where, partial(send, entities=entities or None, reply_markup=buttons))
                if isinstance(fate, int) and instead is not None and send is new:
                    await self.withdraw(to, instead)
                if isinstance(fate, int) or fate == "lost":
                    return fate
                if fate == "length" and send is new and len(page.text) > SHORTEST:
                    middle = page.text.rfind(" ", 1, len(page.text) // 2) + 1 or len(page.text) // 2
                    fate = await self._page(to, MessagePage(page.text[:middle]), None, instead, is_first=is_first)
                    rest = MessagePage(page.text[middle:])
                    return await self._page(to, rest, keyboard, None, is_first=False) if isinstance(fate, int) else fate
                if fate != "text":
                    break
        if fate == "place":
            raise Gone
        return fate

    async def _deliver(self, to: TelegramPlace, send: Send, patience: float = PATIENCE) -> Fate:
        async def once() -> object:
            address = to.address()
            try:
                return await send(chat_id=self.names.now(to.chat), **address)
            except ChatMigrated as migrated:
                # The group is a supergroup now, and the update of that has not come yet.
                self.names.move(self.names.now(to.chat), migrated.new_chat_id)
                return await send(chat_id=migrated.new_chat_id, **address)

        try:
            sent: object = await retrying(lambda _: None, patience)(once)
        except (BadRequest, Forbidden, ChatMigrated) as refusal:
            if (about := subject(refusal)) == "unchanged":
                return 0
            LOG.warning("chat %s: Telegram refuses a message: %s", to.chat, reason(refusal))
            if about == "address":
                raise Gone from refusal
            return about
        except NetworkError as failure:
            LOG.error("chat %s: a message could not be sent (%s)", to.chat, reason(failure))
            return "lost"
        return sent.message_id if isinstance(sent, Message) else 0


async def _frame(request: Coroutine[object, object, object]) -> object:
    """Make the request of a frame; return None if it was left out."""
    try:
        return await request
    except (NoRoom, RetryAfter, NetworkError) as failure:
        # The library makes a refused request a kind of network error.
        if isinstance(failure, BadRequest):
            raise
        return None
