"""The menus of commands: of private chats, groups, their administrators and the bot's, each in every language."""

import logging
from collections.abc import Sequence

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

from app.doors.slash_commands import offered
from app.doors.slash_commands.command import Scope
from app.doors.telegram.place import DOOR
from prompts import languages

LOG = logging.getLogger(__name__)


async def offer_menus(bot: Bot, default: str, administrators: Sequence[int]) -> None:
    """Show the commands in the menus; `default` is the language of those whose own has no menu.

    `administrators` are the bot's, in whose private chats there are commands for them.
    """
    scopes: list[tuple[Scope, BotCommandScope]] = [
        ("private", BotCommandScopeAllPrivateChats()),
        ("group", BotCommandScopeAllGroupChats()),
        ("group_admin", BotCommandScopeAllChatAdministrators()),
        *(("operator", BotCommandScopeChat(chat)) for chat in sorted(administrators)),
    ]
    try:
        for name, scope in scopes:
            for lang in [None, *(lang for lang in languages() if lang != default)]:
                await _offer(bot, name, scope, lang, lang or default)
    except TelegramError as failure:
        LOG.warning("the menus of commands could not be set (%s)", type(failure).__name__)


async def _offer(bot: Bot, name: Scope, scope: BotCommandScope, code: str | None, lang: str) -> None:
    commands = [BotCommand(command.name, command.description(lang)) for command in offered(DOOR, name)]
    try:
        await bot.set_my_commands(commands, scope=scope, language_code=code)
    except BadRequest:
        if not isinstance(scope, BotCommandScopeChat):
            raise
        # An administrator who has left the bot has no menu.
        LOG.info("chat %s: no menu of commands", scope.chat_id)
