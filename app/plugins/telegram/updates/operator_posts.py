"""The chat of the operators: a plug-in posts there, and gets the taps and answers."""

import asyncio
from functools import partial

from telegram import InlineKeyboardButton, InlineKeyboardMarkup, Update

from agents.memory.updates import StoredUpdate
from app.doors.operators import OperatorChats, OperatorWord
from app.plugins.telegram.delivery.operator_posts import Posting
from app.plugins.telegram.delivery.sender import TextRefused
from app.plugins.telegram.door import TelegramDoor
from app.plugins.telegram.place import DOOR, TelegramPlace
from app.plugins.telegram.updates.taps import answer, settle

LOOK = 2.0
"""Seconds between two looks for news, because other processes store some, too."""


class OperatorPosting(Posting):
    """Posts to the operators, and brings their taps and answers."""

    def __init__(self, door: TelegramDoor, chats: OperatorChats, lang: str) -> None:
        self.setting, self._door, self._to = chats.setting, door, TelegramPlace(chats.chat)
        self._chat = chats.open(door.assistant, self.send, lang)

    async def post(self) -> None:
        """Post the plug-in's news."""
        await self._chat.look()
        await asyncio.sleep(LOOK)

    async def send(self, text: str, button: str = "", label: str = "") -> int:
        """Post a text and return its number. Raises Gone or TextRefused."""
        buttons = [InlineKeyboardButton(label, callback_data=button)] if button else []
        keyboard = InlineKeyboardMarkup.from_row(buttons) if buttons else None
        send = partial(self._door.sender.bot.send_message, text=text, reply_markup=keyboard)
        number = await self._door.sender.deliver(self._to, send)
        if number is None:
            raise TextRefused
        return number

    async def claims(self, update: Update) -> str | None:
        """Return the thread of an update of this chat; None if it is no answer or tap of an operator."""
        word = self._word(update)
        return await self._chat.thread_of(word) if word else None

    def begin(self, thread: str, update: Update, stored: StoredUpdate) -> None:
        """Queue an update behind earlier ones of its thread; its row is closed at the end."""
        self._door.chats.add(f"operators {thread}", partial(self._do, thread, update, stored))

    async def _do(self, thread: str, update: Update, stored: StoredUpdate) -> None:
        if word := self._word(update):
            refusal = self._chat.refusal(word)
            if query := update.callback_query:
                await (answer(query, refusal) if refusal else settle(query))
            if not refusal:
                await self._chat.hear(thread, word)
        await self._door.updates.close(stored.id)

    def _word(self, update: Update) -> OperatorWord | None:
        query, message, user = update.callback_query, update.message, update.effective_user
        about = query.message if query else message.reply_to_message if message else None
        if about is None or about.chat.id != self._door.names.now(self._to.chat):
            return None
        return OperatorWord(
            post=about.message_id,
            door=DOOR,
            user=user.id if user else None,
            name=user.full_name if user else "",
            id=f"{message.chat.id}-{message.message_id}" if message else "",
            text=(message.text or message.caption or "").strip() if message else "",
            button=query.data or "" if query else "",
        )
