"""The Telegram door: long polling, one turn at a time per chat, many chats at once.

A message is acknowledged when it is in the inbox; what is left unanswered at the end is taken up at the next start.
"""

import asyncio
import logging
import signal
from argparse import Namespace
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress

from rich.console import Console
from rich.text import Text
from telegram.error import Conflict, InvalidToken, TelegramError
from telegram.ext import Updater

from agents.errors import ConfigError
from app.assistant import Assistant
from app.assistant.reminder_clock import ringing
from app.composition import open_assistant
from app.logs import log_on_stderr
from app.settings import Settings
from app.signals import cancelled_by
from app.telegram.bot import ServiceBot, silent_libraries
from app.telegram.door import TelegramDoor
from app.telegram.operator_notes import delivering
from app.telegram.retries import retrying
from app.telegram.sender import Sender
from app.telegram.slash_commands import offer_menus
from app.telegram.thread_names import read_names
from app.telegram.updates import WANTED, Inbox
from prompts import sentence

LOG = logging.getLogger(__name__)
PATIENCE = 10.0
"""Seconds that answers in the making have at the end."""
REFUSED = "TELEGRAM_BOT_TOKEN: Telegram does not accept it (see .env.example)"


async def serve(options: Namespace, settings: Settings) -> int:
    """Answer messages until SIGTERM or SIGINT; return the exit code.

    The first signal lets running answers end, a second one does not.

    Raises:
        ConfigError: there is no token, or Telegram does not accept it.
    """
    secret = settings.telegram_bot_token
    if secret is None:
        raise ConfigError("TELEGRAM_BOT_TOKEN is not set (see .env.example)")
    token = secret.get_secret_value()
    log = log_on_stderr(detailed=True, content=settings.log_content, secret=token)
    with log, cancelled_by(signal.SIGTERM, signal.SIGINT) as signalled:
        try:
            async with open_assistant(settings) as assistant:
                bot = ServiceBot(token, settings.telegram_api_url.rstrip("/"))
                async with open_door(assistant, bot, settings):
                    listening = sentence("telegram", "listening", settings.app_lang, name=bot.username)
                    console = Console(stderr=True, highlight=False)
                    console.print(Text(listening, "dim"))
                    if not settings.telegram_allowed_users:
                        console.print(Text(sentence("telegram", "closed_here", settings.app_lang), "yellow"))
                    await bot.refused()
                    raise ConfigError(REFUSED)
        except asyncio.CancelledError:
            if not signalled:
                raise
    return 0


@asynccontextmanager
async def open_door(assistant: Assistant, bot: ServiceBot, settings: Settings) -> AsyncIterator[TelegramDoor]:
    """Answer messages and deliver reminders during the block; at its end wait for the answers in the making.

    Raises:
        ConfigError: Telegram does not accept the token.
    """
    with silent_libraries():
        async with AsyncExitStack() as stack:
            stack.push_async_callback(bot.shutdown)
            await connect(bot)
            names = await read_names(assistant.memory, bot.id)
            door = TelegramDoor(assistant, Sender(bot, names), lang=settings.app_lang, names=names)
            inbox = Inbox(door, bot, allowed=settings.telegram_allowed_users)
            updater = Updater(bot, inbox)
            await stack.enter_async_context(updater)
            stack.push_async_callback(door.chats.close, PATIENCE)
            await offer_menus(bot, settings.app_lang)
            await inbox.recover()
            clock = await stack.enter_async_context(ringing(assistant.memory, door.remind, threads=f"{names.prefix}*"))
            door.reached = clock.reached
            if (chat := settings.help_operator_chat) is not None:
                notes = assistant.memory.notes
                await stack.enter_async_context(delivering(notes, bot, chat, settings.app_lang))
            stack.push_async_callback(_stop_polling, updater)
            await updater.start_polling(bootstrap_retries=-1, allowed_updates=WANTED, error_callback=_note)
            yield door


async def _stop_polling(updater: Updater) -> None:
    # A token that is no longer valid has ended the polling already, and would be complained of again.
    with suppress(TelegramError):
        if updater.running:
            await updater.stop()


async def connect(bot: ServiceBot) -> None:
    """Reach Telegram for the first time, however long that takes.

    Raises:
        ConfigError: Telegram does not accept the token.
    """
    try:
        await retrying(_note)(bot.initialize)
    except InvalidToken:
        # Not "from": the library's own words contain the token.
        raise ConfigError(REFUSED) from None


def _note(failure: BaseException) -> None:
    if isinstance(failure, Conflict):
        LOG.error("another process asks for the messages of the same bot")
    else:
        LOG.warning("no messages from Telegram (%s); trying again", type(failure).__name__)
