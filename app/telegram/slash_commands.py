"""Slash commands in a Telegram chat: those of the one registry, its menu, and buttons that confirm."""

import asyncio
import logging

from telegram import Bot, BotCommand, InlineKeyboardButton, InlineKeyboardMarkup
from telegram.error import TelegramError

from agents.memory.store import namespace_of
from app import slash_commands
from app.assistant import Turn
from app.telegram.door import Door
from app.telegram.place import DOOR, Place
from app.visit import PATIENCE, Visit
from prompts import languages, sentence

LOG = logging.getLogger(__name__)
STOP_AGAIN = 0.05
KEEP = "-"
"""What the button sends that only takes the buttons away."""


class ChatVisit(Visit):
    """A visit that lasts for one command."""

    def __init__(self, door: Door, place: Place) -> None:
        super().__init__(door.assistant, place.thread, place.user, dialogs=door.dialogs, door=DOOR)
        self._door, self._place = door, place
        self.first_lang: str | None = None
        """The language to greet in."""

    def turn(self, text: str | None, **more: str) -> Turn:
        """Return the turn of the command's message."""
        return self._place.turn(text, lang=self.first_lang, **more)

    async def play(self, turn: Turn) -> int:
        """Show a turn in the chat."""
        await self._door.play(self._place.chat, turn)
        return 0

    async def stop(self) -> bool:
        """Stop the answer that is being made or about to be; False if there is none."""
        for _ in range(round(PATIENCE / STOP_AGAIN)):
            if not self._door.chats.is_busy(self._place.chat):
                break
            if await self.assistant.stop(self.thread):
                return True
            await asyncio.sleep(STOP_AGAIN)
        return False


async def run(door: Door, place: Place, name: str, argument: str) -> None:
    """Run a command and say its answer; one that asks first gets buttons.

    Raises:
        Gone: the chat cannot be written to.
    """
    visit = ChatVisit(door, place)
    state = await visit.state()
    visit.first_lang = None if state else place.lang
    lang = await door.lang(place)
    answer = await slash_commands.run(name, argument, visit, lang)
    if visit.lang:
        user = namespace_of(place.user or place.thread, "settings")
        await door.assistant.memory.store.aput(user, "language", {"lang": visit.lang})
    await door.sender.say(place.chat, answer, is_markdown=False, keyboard=_buttons(name, argument, lang))


def _buttons(name: str, argument: str, lang: str) -> InlineKeyboardMarkup | None:
    command = slash_commands.COMMANDS.get(name)
    if command is None or not command.yes or argument.lower() == command.yes:
        return None
    data = {"yes": f"/{name} {command.yes}", "no": KEEP}
    row = [InlineKeyboardButton(sentence("telegram", key, lang), callback_data=sent) for key, sent in data.items()]
    return InlineKeyboardMarkup([row])


async def offer_menus(bot: Bot, default: str) -> None:
    """Show the commands in the menu of every chat, in the languages there are; `default` for all others."""
    for lang in [None, *languages()]:
        menu = [
            BotCommand(command.name, command.description(lang or default)) for command in slash_commands.offered(DOOR)
        ]
        try:
            await bot.set_my_commands(menu, language_code=lang)
        except TelegramError as failure:
            LOG.warning("the menu of commands could not be set (%s)", type(failure).__name__)
            return
