"""Slash commands in a chat: each runs as a visit of one command; and their menus."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import product

from telegram import (
    BotCommand,
    BotCommandScope,
    BotCommandScopeAllChatAdministrators,
    BotCommandScopeAllGroupChats,
    BotCommandScopeAllPrivateChats,
    BotCommandScopeChat,
)
from telegram.error import InvalidToken, TelegramError

from agents.events import Event
from app.assistant import Turn
from app.assistant.system_messages import SystemMessages
from app.doors import slash_commands
from app.doors.slash_commands import MESSENGER, Scope, offered
from app.doors.visit import Visit, stop_when_begun
from app.plugins.telegram.delivery.buttons import OF
from app.plugins.telegram.door import TelegramDoor
from app.plugins.telegram.phrases import say
from app.plugins.telegram.place import TelegramPlace, go_to_conversation
from app.plugins.telegram.updates.offers import offers
from app.plugins.telegram.updates.row import ReplyWithButtons, UpdateRow
from prompts import languages, phrase

LOG = logging.getLogger(__name__)


class CommandDoor:
    """A chat as the door of a visit of one command."""

    name = MESSENGER
    is_traced, has_pages = False, True

    def __init__(self, row: UpdateRow, is_over: Callable[[], bool]) -> None:
        self._row, self._door, self._place, self._is_over = row, row.door, row.place, is_over
        self.handed: tuple[str, str] | None = None
        self.has_played = False

    async def play(self, turn: Turn, note: Callable[[Event], None]) -> bool:
        """Store a turn as that of the command's message, and queue it in its chat."""
        self.has_played = True
        # A failed message is played again under its own id, unless that play is running.
        is_running = any(answer.turn.id == turn.id for answer in self._door.answers.values())
        failed = None if is_running else await self._door.assistant.message(turn.thread, turn.id)
        is_new = await self._door.assistant.state(turn.thread, turn.owner) is None
        id = failed.message_id if failed else ""
        own = self._place.turn(turn.text, id=id, source=turn.source, quoted=turn.quoted)
        own = replace(own, lang=self._place.lang if is_new else None)
        await self._row.at(self._place).receive(own)
        return True

    async def stop(self, thread: str) -> bool:
        """Stop the answer that ran or waited when the command came; False if there was none."""
        return await stop_when_begun(self._door.assistant, thread, self._is_over, self._place.owner)

    async def begin(self, visit: Visit, name: str) -> str:
        """Go to another conversation of the chat; without messages of the operator it begins with those of this one."""
        store, names, before = self._door.assistant.memory.store, self._door.names, self._place.thread
        self._place = await go_to_conversation(store, names, self._place, name, self._row.stored.id)
        thread = self._place.thread
        if thread != before and not (await SystemMessages.of(store, thread)).system_messages:
            await (await SystemMessages.of(store, before)).save(store, thread)
        return thread

    def named(self, thread: str) -> str:
        """Return the number of a conversation of this chat."""
        return self._door.names.number(thread, self._place.chat, self._place.topic)

    def here(self, thread: str, lang: str) -> str:
        """Return a remark on the chat's new conversation; empty if the conversation has greeted already."""
        return "" if self.has_played else say("conversation", lang, number=self.named(thread))

    async def whisper(self, text: str, lang: str) -> str:
        """Return a private text; in a group it goes to the user's own chat, and a remark is returned."""
        if not self._place.is_group or not text:
            return text
        self.handed = "", text
        return phrase("shown_privately", lang)

    async def hand(self, name: str, content: str, lang: str) -> str:
        """Send a document with the answer; in a group to the user's own chat."""
        self.handed = name, content
        return say("document_privately" if self._place.is_group else "document", lang)


def is_for_administrators(name: str, argument: str, place: TelegramPlace) -> bool:
    """Tell whether a command concerns everybody in the group, and so is for its administrators only."""
    return place.is_group and (name == "new" or (name == "forget" and argument.lower().startswith("all")))


async def run(row: UpdateRow, name: str, argument: str, is_over: Callable[[], bool]) -> ReplyWithButtons | None:
    """Run a command and return its answer, None if a turn brings it; `row` is the update with the command.

    `is_over` tells whether all earlier requests are over.
    """
    door, place = row.door, row.place
    if is_for_administrators(name, argument, place) and not await door.administers(place):
        return ReplyWithButtons(say("for_administrators", await door.lang(place)))
    here = CommandDoor(row, is_over)
    visit = Visit(door.assistant, here, place.thread, place.user, is_shared=place.is_group)
    await visit.state()
    lang = await door.lang(place)
    answer = await slash_commands.run(name, argument, visit, lang)
    if here.has_played:
        return None
    below = await offers(name, argument, visit, visit.lang or lang)
    buttons = tuple((label, f"{sent}{OF}{place.owner}") for sent, label in below.items())
    return ReplyWithButtons(answer, buttons, here.handed)


async def offer_menus(door: TelegramDoor) -> None:
    """Show the commands in the menus of private chats, groups, their administrators and the bot's, in each language."""
    scopes: list[tuple[Scope, BotCommandScope]] = [
        ("private", BotCommandScopeAllPrivateChats()),
        ("group", BotCommandScopeAllGroupChats()),
        ("group_admin", BotCommandScopeAllChatAdministrators()),
        *(("operator", BotCommandScopeChat(chat)) for chat in sorted(door.access.administrators)),
    ]
    default = door.default_lang
    for (name, scope), code in product(scopes, [None, *(lang for lang in languages() if lang != default)]):
        menu = [BotCommand(command.name, command.description(code or default)) for command in offered(MESSENGER, name)]
        # An administrator who has left the bot gets no menu.
        with _noting("a menu of commands"):
            await door.sender.bot.set_my_commands(menu, scope=scope, language_code=code)


async def describe(door: TelegramDoor) -> None:
    """Set the bot's description in each language that has none: people read it before they begin."""
    bot, default = door.sender.bot, door.default_lang
    with _noting("the bot's description"):
        # In a language without a description, Telegram returns the general one.
        for code in (*(lang for lang in languages() if lang != default), None):
            if not (await bot.get_my_description(code)).description:
                await bot.set_my_description(say("description", code or default), language_code=code)


@contextmanager
def _noting(what: str) -> Iterator[None]:
    """Log a refusal of Telegram; a refused token is raised, and the request for updates then ends the command."""
    try:
        yield
    except InvalidToken:
        raise
    except TelegramError as failure:
        LOG.warning("%s could not be set (%s)", what, type(failure).__name__)
