"""Sending to Telegram: every message arrives, in order within a chat, however long Telegram makes it wait."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal
from weakref import WeakValueDictionary

from telegram import InlineKeyboardMarkup, Message, ReplyKeyboardMarkup
from telegram.constants import ChatAction
from telegram.error import BadRequest, ChatMigrated, Forbidden, InvalidToken, NetworkError, RetryAfter, TelegramError

from app.doors.telegram.bot import ServiceBot, retrying
from app.doors.telegram.delivery.buttons import without_links
from app.doors.telegram.delivery.pages import Page, pages
from app.doors.telegram.delivery.receipts import PageReceipts
from app.doors.telegram.flood_control import FRAME, NoRoom
from app.doors.telegram.place import Place, ThreadNames

LOG = logging.getLogger(__name__)
PATIENCE = 24 * 3600.0
"""Seconds for which a text is tried again while Telegram cannot be reached; so long it keeps updates for us, too."""
FILE_PATIENCE = 600.0
"""The same for a file, which may itself be what Telegram fails at."""
FRAME_TIMEOUT = 5.0
"""Seconds that a frame may take; the message that follows waits for it."""
UNCHANGED = "not modified"
UNWRITABLE = ("chat not found", "not enough rights", "have no rights")
"""What Telegram says where the bot may not write, beside what it forbids."""

Keyboard = InlineKeyboardMarkup | ReplyKeyboardMarkup | None
Fate = Literal["sent", "refused", "lost"]


@dataclass(frozen=True)
class Delivery:
    """What became of a message, and its number if it is known."""

    fate: Fate
    message: int | None = None


class Gone(Exception):
    """The chat cannot be written to: the user has blocked the bot, or it was thrown out."""


class Sender:
    """Send texts, one at a time per chat. What comes before a message, its frames, ranks below it.

    Whatever sends a message raises `Gone` when the chat cannot be written to.
    """

    def __init__(self, bot: ServiceBot, names: ThreadNames | None = None) -> None:
        self.bot, self.names = bot, names or ThreadNames()
        self._locks: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()
        """By chat, what keeps the pages of one text together."""
        self._has_drafts = True

    async def say(
        self,
        to: Place,
        text: str,
        *,
        is_markdown: bool = True,
        keyboard: Keyboard = None,
        receipts: PageReceipts | None = None,
    ) -> bool:
        """Send a text in as many messages as it takes; as `show`."""
        return await self.show(to, pages(text, is_markdown=is_markdown), keyboard, receipts=receipts)

    async def show(
        self,
        to: Place,
        pages: Sequence[Page],
        keyboard: Keyboard = None,
        instead: int | None = None,
        receipts: PageReceipts | None = None,
    ) -> bool:
        """Send pages, the last one with the buttons; pages that have a receipt are left out.

        `instead` is a message that the first page takes the place of. Returns False if Telegram was out of reach for
        too long. A text that Telegram refuses counts as sent.
        """
        fates: list[Fate] = []
        if instead and isinstance(keyboard, ReplyKeyboardMarkup):
            # No edit brings buttons below the chat.
            await self.withdraw(to, instead)
            instead = None
        async with self._lock(to):
            for number, page in enumerate(pages):
                if receipts and receipts.has_next():
                    continue
                buttons = keyboard if number == len(pages) - 1 else None
                delivery = await self._page(to, page, buttons, instead, is_first=number == 0)
                instead = None
                fates.append(delivery.fate)
                if receipts:
                    await receipts.note(delivery.message)
        if instead:
            await self.withdraw(to, instead)
        return "lost" not in fates

    async def deliver(self, to: Place, send: Callable[..., Awaitable[object]]) -> Fate:
        """Send a file after what was sent to a chat before, until it is sent; `send` is given the `chat_id`."""
        async with self._lock(to):
            return (await self._deliver(to, send, FILE_PATIENCE)).fate

    def takes_drafts(self, to: Place) -> bool:
        """Tell whether a chat can show drafts: a private one, unless this Bot API server knows none."""
        return not to.is_group and self._has_drafts

    async def typing(self, to: Place) -> bool:
        """Show that an answer is being made, if there is room for it."""
        with suppress(TelegramError):
            show = self.bot.send_chat_action(
                self.names.now(to.chat), ChatAction.TYPING, **_as_frame(), **to.address(replies=False)
            )
            return bool(await _frame(show))
        return False

    async def draft(self, to: Place, draft: int, page: Page) -> bool:
        """Show a text as a draft with a button to stop, if there is room for it.

        Raises:
            TelegramError: Telegram refuses it.
        """
        show = self.bot.send_message_draft(
            to.chat,
            draft,
            page.text or None,
            entities=page.entities or None,
            api_kwargs={"can_stop": True, "keep_on_stop": True},
            **_as_frame(),
            **to.address(replies=False),
        )
        try:
            return bool(await _frame(show))
        except InvalidToken:
            # This is what the library makes of an unknown method.
            self._has_drafts = False
            raise

    async def grow(self, to: Place, message: int | None, page: Page, keyboard: InlineKeyboardMarkup) -> int | None:
        """Show a text in a message that is edited later; return its number, None if there was no room for it.

        Raises:
            TelegramError: Telegram refuses it.
        """
        chat = self.names.now(to.chat)
        options: dict[str, Any] = {"entities": page.entities or None, "reply_markup": keyboard, **_as_frame()}
        if message is None:
            sent = await _frame(self.bot.send_message(chat, page.text, **options, **to.address()))
            return sent.message_id if isinstance(sent, Message) else None
        return message if await _frame(self.bot.edit_message_text(page.text, chat, message, **options)) else None

    async def withdraw(self, to: Place, message: int) -> None:
        """Delete a message that nothing took the place of; a failure of this is ignored."""
        with suppress(TelegramError):
            await self.bot.delete_message(self.names.now(to.chat), message)

    def _lock(self, to: Place) -> asyncio.Lock:
        return self._locks.setdefault(to.chat, asyncio.Lock())

    async def _page(
        self, to: Place, page: Page, keyboard: Keyboard, instead: int | None, *, is_first: bool
    ) -> Delivery:
        """Send a page; if Telegram refuses it, send it without formatting, then without links, then without buttons."""
        new = partial(self.bot.send_message, text=page.text, **to.address(replies=is_first))
        sends: list[Callable[..., Awaitable[object]]] = [new]
        if instead is not None:
            sends = [partial(self.bot.edit_message_text, page.text, message_id=instead), new]
        delivery = Delivery("refused")
        tries = [(page.entities, keyboard), ((), keyboard), ((), keyboard and without_links(keyboard)), ((), None)]
        for send in sends:
            for entities, buttons in dict.fromkeys(tries):
                delivery = await self._deliver(to, partial(send, entities=entities or None, reply_markup=buttons))
                if delivery.fate != "refused":
                    return delivery
        return delivery

    async def _deliver(
        self, to: Place, send: Callable[..., Awaitable[object]], patience: float | None = None
    ) -> Delivery:
        """Make a request until it succeeds or is refused, or Telegram was out of reach for `patience` seconds."""

        async def once() -> object:
            try:
                return await send(chat_id=self.names.now(to.chat))
            except ChatMigrated as migrated:
                # The group is a supergroup now, and the update that says so has not come yet.
                self.names.move(self.names.now(to.chat), migrated.new_chat_id)
                return await send(chat_id=migrated.new_chat_id)

        try:
            sent: object = await retrying(lambda _: None, PATIENCE if patience is None else patience)(once)
        except (Forbidden, ChatMigrated) as gone:
            raise Gone from gone
        except BadRequest as refusal:
            if UNCHANGED in refusal.message:
                return Delivery("sent")
            if any(words in refusal.message.lower() for words in UNWRITABLE):
                raise Gone from refusal
            LOG.warning("chat %s: Telegram refuses a message as it is", to.chat)
            return Delivery("refused")
        except NetworkError as failure:
            LOG.error("chat %s: a message could not be sent (%s)", to.chat, type(failure).__name__)
            return Delivery("lost")
        return Delivery("sent", sent.message_id if isinstance(sent, Message) else None)


def _as_frame() -> dict[str, Any]:
    return {"read_timeout": FRAME_TIMEOUT, "rate_limit_args": FRAME}


async def _frame(request: Coroutine[Any, Any, object]) -> object:
    """Make a request that nobody misses; None if it was left out."""
    try:
        return await request
    except BadRequest:
        raise
    except (NoRoom, RetryAfter, NetworkError):
        return None
