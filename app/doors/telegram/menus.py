"""The menus of commands: of private chats, groups, their administrators and the bot's, each in every language."""

import hashlib
import json
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from telegram import (
    Bot,
    BotCommand,
    BotCommandScope,
    BotCommandScopeAllChatAdministrators,
    BotCommandScopeAllGroupChats,
    BotCommandScopeAllPrivateChats,
    BotCommandScopeChat,
)
from telegram.error import BadRequest, TelegramError

from agents.memory.store import Store
from app.doors.slash_commands import offered
from app.doors.slash_commands.command import Scope
from app.doors.telegram.place import DOOR
from prompts import languages

LOG = logging.getLogger(__name__)
KEY = "menus"


@dataclass(frozen=True)
class Menu:
    """What one kind of chat is offered in one language; None stands for every language that has no menu."""

    scope: BotCommandScope
    lang: str | None
    commands: Sequence[BotCommand]

    def plain(self) -> object:
        """Return it as plain data."""
        return [self.scope.to_dict(), self.lang, [command.to_dict() for command in self.commands]]


async def offer_menus(bot: Bot, store: Store, default: str, administrators: Sequence[int]) -> None:
    """Show the commands in the menus, unless they are the same as last time; `default` is the language of others.

    `administrators` are the bot's, in whose private chats there are commands for them.
    """
    menus = [*_menus(default, administrators)]
    digest = hashlib.sha256(json.dumps([menu.plain() for menu in menus]).encode()).hexdigest()
    place = (DOOR, str(bot.id))
    item = await store.aget(place, KEY)
    if item and item.value["digest"] == digest:
        return
    try:
        for menu in menus:
            await _offer(bot, menu)
    except TelegramError as failure:
        LOG.warning("the menus of commands could not be set (%s)", type(failure).__name__)
        return
    await store.aput(place, KEY, {"digest": digest})


async def _offer(bot: Bot, menu: Menu) -> None:
    try:
        await bot.set_my_commands(menu.commands, scope=menu.scope, language_code=menu.lang)
    except BadRequest:
        if not isinstance(menu.scope, BotCommandScopeChat):
            raise
        # An administrator who has left the bot has no menu.
        LOG.info("chat %s: no menu of commands", menu.scope.chat_id)


def _menus(default: str, administrators: Sequence[int]) -> Iterator[Menu]:
    scopes: list[tuple[Scope, BotCommandScope]] = [
        ("private", BotCommandScopeAllPrivateChats()),
        ("group", BotCommandScopeAllGroupChats()),
        ("group_admin", BotCommandScopeAllChatAdministrators()),
        *(("operator", BotCommandScopeChat(chat)) for chat in sorted(administrators)),
    ]
    for name, scope in scopes:
        for lang in [None, *(lang for lang in languages() if lang != default)]:
            commands = [BotCommand(it.name, it.description(lang or default)) for it in offered(DOOR, name)]
            yield Menu(scope, lang, commands)
