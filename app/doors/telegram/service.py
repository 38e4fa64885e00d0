"""The Telegram door: long polling, one turn at a time per chat, many chats at once.

A message is acknowledged when it is in the inbox; what is left unanswered at the end is taken up at the next start.
"""

import asyncio
import logging
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from urllib.parse import urlsplit

from rich.console import Console
from rich.text import Text
from telegram import WebhookInfo
from telegram.error import TelegramError
from telegram.ext import Updater

from agents.errors import ConfigError
from app.assistant import Assistant
from app.assistant.clocks import Clock, SilenceClock
from app.composition import open_assistant
from app.composition.services import make_file_reader
from app.doors.telegram.bot import REFUSED, ServiceBot, connected, note, retrying, token_of
from app.doors.telegram.delivery.sender import Sender
from app.doors.telegram.door import TelegramDoor
from app.doors.telegram.notices import delivering
from app.doors.telegram.place import Place, ThreadNames, read_names
from app.doors.telegram.updates.commands import Faults, offer_menus
from app.doors.telegram.updates.inbox import WANTED, Inbox
from app.logs import log_on_stderr
from app.settings import Settings
from app.tasks import cancelled_by
from prompts import sentence

LOG = logging.getLogger(__name__)
PATIENCE = 10.0
"""Seconds that answers in the making have at the end."""


async def serve(settings: Settings) -> int:
    """Answer messages until SIGTERM or SIGINT; return the exit code.

    The first signal lets running answers end, a second one does not.

    Raises:
        ConfigError: there is no token, or Telegram does not accept it.
    """
    token = token_of(settings)
    log = log_on_stderr(detailed=True, content=settings.log_content, secret=token)
    with log, cancelled_by(signal.SIGTERM, signal.SIGINT) as signalled:
        try:
            async with open_assistant(settings) as assistant:
                bot = ServiceBot(token, settings.telegram_api_url)
                async with open_door(assistant, bot, settings) as door:
                    listening = sentence("telegram", "listening", settings.app_lang, name=bot.username)
                    console = Console(stderr=True, highlight=False)
                    console.print(Text(listening, "dim"))
                    if door.access.is_closed:
                        link = await door.access.link(bot.username)
                        console.print(Text(sentence("telegram", "closed_here", settings.app_lang, link=link), "yellow"))
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
    async with connected(bot), AsyncExitStack() as stack:
        names = await read_names(assistant.memory, bot.id)
        sender, lang, files = Sender(bot, names), settings.app_lang, make_file_reader(settings, assistant)
        allowed = settings.telegram_allowed_users
        door = TelegramDoor(assistant, sender, lang=lang, bot=bot.id, allowed=allowed, files=files)
        await door.access.read()
        faults = Faults()
        stack.enter_context(faults.counting())
        inbox = Inbox(door, faults)
        updater = Updater(bot, inbox)
        await stack.enter_async_context(updater)
        stack.push_async_callback(door.chats.close, PATIENCE)
        await door.conversations.read()
        await inbox.recover()
        clock = await stack.enter_async_context(
            Clock(assistant.memory, assistant.sources, door.deliver, threads=door.threads)
        )
        silence = await stack.enter_async_context(SilenceClock(assistant, door.nudge, door.is_held_in_private))
        door.reached = partial(_note_reached, clock, silence, names)
        if (chat := settings.help_operator_chat) is not None:
            await stack.enter_async_context(delivering(assistant.memory.notes, sender, chat, lang))
        await _warn_of_webhook(bot)
        stack.push_async_callback(_stop_polling, updater)
        door.chats.start(offer_menus(door))
        await updater.start_polling(bootstrap_retries=-1, allowed_updates=WANTED, error_callback=note)
        yield door


def _note_reached(clock: Clock, silence: SilenceClock, names: ThreadNames, place: Place) -> None:
    """Note that something has come from a chat: what waits for it rings, and nobody asks if its user is there."""
    silence.heard(place.thread)
    for thread in clock.unreachable:
        if (waiting := names.place(thread)) and waiting.chat == names.now(place.chat):
            clock.reached(thread)


async def _warn_of_webhook(bot: ServiceBot) -> None:
    """Say that another service's webhook ends here: Telegram brings messages one way alone."""
    info: WebhookInfo = await retrying(note)(bot.get_webhook_info)
    if info.url:
        # Not the whole address: it may hold a secret.
        host = urlsplit(info.url).hostname
        LOG.warning("the bot had a webhook at %s; it is deleted, because messages are asked for from now on", host)


async def _stop_polling(updater: Updater) -> None:
    # A token that is no longer valid has ended the polling already, and would be complained of again.
    with suppress(TelegramError):
        if updater.running:
            await updater.stop()
