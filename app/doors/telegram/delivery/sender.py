"""Sending to Telegram: every message arrives, in order within a chat, however long Telegram makes it wait."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from telegram import Bot, InlineKeyboardMarkup, ReplyKeyboardMarkup
from telegram.constants import ChatAction
from telegram.error import InvalidToken, TelegramError

from agents.state.citations import Citation
from app.doors.telegram.bot import NO_PREVIEW
from app.doors.telegram.delivery.buttons import without_links
from app.doors.telegram.delivery.pages import Page, pages
from app.doors.telegram.delivery.receipts import PageReceipts
from app.doors.telegram.delivery.requests import ChatRequests, Delivery, Fate
from app.doors.telegram.place import Place, ThreadNames

Keyboard = InlineKeyboardMarkup | ReplyKeyboardMarkup | None


class Sender:
    """Send texts, one at a time per chat. What comes before a message, its frames, ranks below it."""

    def __init__(self, bot: Bot, names: ThreadNames | None = None, away: Collection[int] = ()) -> None:
        self.bot, self._names = bot, names or ThreadNames()
        self.requests = ChatRequests(self._names, away)
        self._has_drafts = True

    @property
    def bot_name(self) -> str:
        """The bot's user name, without the sign before it."""
        return self.bot.username

    async def say(
        self,
        to: Place,
        text: str,
        *,
        is_markdown: bool = True,
        keyboard: Keyboard = None,
        instead: int | None = None,
        citations: Sequence[Citation] = (),
        receipts: PageReceipts | None = None,
    ) -> bool:
        """Send a text in as many messages as it takes, its sources below; the last one carries the buttons.

        `instead` is a message that the first of them takes the place of; pages that have a receipt are left out.
        Returns False if Telegram was out of reach for too long. A text that Telegram refuses counts as sent.

        Raises:
            Gone: the chat cannot be written to.
        """
        parts = pages(text, is_markdown=is_markdown, citations=citations)
        return await self.show(to, parts, keyboard, instead, receipts)

    async def show(
        self,
        to: Place,
        pages: Sequence[Page],
        keyboard: Keyboard = None,
        instead: int | None = None,
        receipts: PageReceipts | None = None,
    ) -> bool:
        """Send pages, the last one with the buttons; returns the same as `say`.

        Raises:
            Gone: the chat cannot be written to.
        """
        fates: list[Fate] = []
        if instead and isinstance(keyboard, ReplyKeyboardMarkup):
            # No edit brings buttons below the chat.
            await self.withdraw(to, instead)
            instead = None
        async with self.requests.lock(to.chat):
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
        """Make a request to a chat after those before it, until it succeeds; `send` is given the `chat_id`.

        Raises:
            Gone: the chat cannot be written to.
        """
        async with self.requests.lock(to.chat):
            return (await self.requests.deliver(to.chat, send, is_file=True)).fate

    def takes_drafts(self, to: Place) -> bool:
        """Tell whether a chat can show drafts: a private one, unless this Bot API server knows none."""
        return not to.is_group and self._has_drafts

    async def typing(self, to: Place) -> bool:
        """Show that an answer is being made, if there is room for it."""
        with suppress(TelegramError):
            place = to.address(replies=False)
            show = partial(self.bot.send_chat_action, self._names.now(to.chat), ChatAction.TYPING, **place)
            return bool(await self.requests.frame(to.chat, show))
        return False

    async def draft(self, to: Place, draft: int, page: Page) -> bool:
        """Show a text as a draft with a button to stop, if there is room for it.

        Raises:
            TelegramError: Telegram refuses it.
        """
        options: dict[str, Any] = {
            "entities": page.entities or None,
            "api_kwargs": {"can_stop": True, "keep_on_stop": True},
            **to.address(replies=False),
        }
        show = partial(self.bot.send_message_draft, to.chat, draft, page.text or None, **options)
        try:
            return bool(await self.requests.frame(to.chat, show))
        except InvalidToken:
            # This is what the library makes of an unknown method.
            self._has_drafts = False
            raise

    async def grow(self, to: Place, message: int | None, page: Page, keyboard: InlineKeyboardMarkup) -> int | None:
        """Show a text in a message that is edited later; return its number, None if there was no room for it.

        Raises:
            TelegramError: Telegram refuses it.
        """
        chat = self._names.now(to.chat)
        options: dict[str, Any] = {
            "entities": page.entities or None,
            "reply_markup": keyboard,
            "link_preview_options": NO_PREVIEW,
        }
        if message is None:
            new = partial(self.bot.send_message, chat, page.text, **options, **to.address())
            sent = await self.requests.frame(to.chat, new)
            return sent.message_id if sent else None
        edit = partial(self.bot.edit_message_text, page.text, chat, message, **options)
        return message if await self.requests.frame(to.chat, edit) else None

    async def withdraw(self, to: Place, message: int) -> None:
        """Delete a message that nothing took the place of; a failure of this is ignored."""
        with suppress(TelegramError):
            await self.bot.delete_message(self._names.now(to.chat), message)

    async def _page(
        self, to: Place, page: Page, keyboard: Keyboard, instead: int | None, *, is_first: bool
    ) -> Delivery:
        """Send a page; if Telegram refuses it, send it without formatting, then without links, then without buttons."""
        options: dict[str, Any] = {"text": page.text, "link_preview_options": NO_PREVIEW}
        new = partial(self.bot.send_message, **options, **to.address(replies=is_first))
        sends: list[Callable[..., Awaitable[object]]] = [new]
        if instead is not None:
            sends = [partial(self.bot.edit_message_text, message_id=instead, **options), new]
        delivery = Delivery("refused")
        tries = [(page.entities, keyboard), ((), keyboard), ((), keyboard and without_links(keyboard)), ((), None)]
        for send in sends:
            for entities, buttons in dict.fromkeys(tries):
                delivery = await self.requests.deliver(
                    to.chat, partial(send, entities=entities or None, reply_markup=buttons)
                )
                if delivery.fate != "refused":
                    return delivery
        return delivery
