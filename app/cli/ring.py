"""`ring`: a small service that rings notices while no conversation is open."""

import asyncio
import logging
import signal
import sys
from contextlib import AsyncExitStack
from functools import partial
from importlib import import_module
from typing import Annotated

import typer

from agents.errors import ConfigError
from agents.language.text.clean import clean
from agents.toolkit.command_line import name_given
from app.assistant import Assistant
from app.assistant.notice_clock import Deliver, Ring, Unreachable, ringing
from app.cli.options import Lang
from app.cli.talk import RULES
from app.composition import open_assistant
from app.desktop_notifications import Desktop, NoDesktop
from app.doors.visit import TROUBLE
from app.logs import log_on_stderr
from app.sentences import say
from app.settings import Settings, read_settings
from app.signals import cancelled_by

LOG = logging.getLogger(__name__)
APP = "Dialog Supervisor"
CHATS = "telegram[-@]*"
"""The threads of Telegram's chats, as a GLOB pattern."""
DESKTOP_AGAIN = 30.0
"""Seconds until a desktop that shows nothing, such as one that is just starting, is tried again."""


Whose = Annotated[str | None, typer.Option(callback=name_given, help="Only this user's (default: those of everybody).")]


async def ring(*, user: Whose = None, lang: Lang = None) -> int:
    """Ring what users are to be told, such as reminders, while no conversation is open, until stopped."""
    settings = read_settings()
    return await ring_for(settings, lang or settings.app_lang, user)


async def ring_for(settings: Settings, lang: str, user: str | None = None) -> int:
    """Ring until SIGTERM or SIGINT; return the exit code, that of "unavailable" where nothing can ring now.

    Raises:
        ConfigError: the Telegram settings are wrong.
    """
    token = settings.telegram_bot_token.get_secret_value() if settings.telegram_bot_token else ""
    if settings.ring_telegram_chat is not None and not token:
        raise ConfigError(say("ring.no_token", settings.app_lang))
    log = log_on_stderr(detailed=True, content=settings.log_content, secret=token)
    with log, cancelled_by(signal.SIGTERM, signal.SIGINT) as signalled:
        try:
            # No model is asked, so none has to be reachable.
            async with open_assistant(settings, models=settings.models(RULES), remote=False) as assistant:
                return await _ring(assistant, settings, token, lang, user)
        except asyncio.CancelledError:
            if not signalled:
                raise
    return 0


async def _ring(assistant: Assistant, settings: Settings, token: str, lang: str, user: str | None) -> int:
    """Ring as the settings say until cancelled."""
    chat, ways = settings.ring_telegram_chat, []
    deliver: Deliver | None = None
    async with AsyncExitStack() as stack:
        begin = partial(ringing, assistant.memory, assistant.sources, user=user)
        if token:
            # Its library takes half a second to import, which other commands should not wait for.
            telegram = import_module("app.doors.telegram.notices")
            opened = telegram.open_sender(assistant, token, settings.telegram_api_url, lang)
            door = await stack.enter_async_context(opened)
            await stack.enter_async_context(begin(door.deliver, threads=door.threads))
            ways.append(say("ring.telegram", lang))
            deliver = None if chat is None else partial(door.deliver_to, chat)
        if deliver:
            ways.append(say("ring.chat", lang, chat=chat))
        else:
            desktop = Desktop(APP)
            try:
                ways.append(say("ring.desktop", lang, server=await desktop.check()))
            except NoDesktop as lack:
                sys.stderr.write(f"python -m app: {say('ring.no_way', lang, why=lack)}\n")
                return TROUBLE["unavailable"]
            deliver = partial(_notify, assistant, desktop, say("ring.title", lang))
        await stack.enter_async_context(begin(deliver, without=CHATS, away=DESKTOP_AGAIN))
        whose = say("ring.of_user", lang, user=user) if user else ""
        sys.stderr.write(clean(say("ring.ringing", lang, user=whose, ways=", ".join(ways))) + "\n")
        await asyncio.Event().wait()
    return 0


async def _notify(assistant: Assistant, desktop: Desktop, title: str, ring: Ring) -> None:
    """Show a notice on the desktop, then take note that it was told.

    Raises:
        Unreachable: it could not be shown.
    """
    try:
        await desktop.show(ring.id, title, ring.text)
    except NoDesktop as lack:
        LOG.warning("%s", lack)
        raise Unreachable from lack
    await assistant.tell(ring.thread, ring.text, ring.id, ring.user)
