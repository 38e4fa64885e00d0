"""`telegram pair`: print a link that lets somebody talk to the bot."""

import sys

from agents.memory import open_memory
from app.doors.telegram.access import Access
from app.doors.telegram.bot import ServiceBot, silent_libraries
from app.doors.telegram.connection import connect, token_of
from app.logs import log_on_stderr
from app.settings import Settings
from prompts import sentence


async def pair(settings: Settings) -> int:
    """Print a link with a code that lets its opener in, within an hour and once; the first one becomes administrator.

    Raises:
        ConfigError: there is no token, Telegram does not accept it, or it cannot be reached.
    """
    token = token_of(settings)
    with log_on_stderr(detailed=True, content=settings.log_content, secret=token):
        link = await new_link(settings, token)
    sys.stderr.write(sentence("telegram", "pair_here", settings.app_lang) + "\n")
    sys.stdout.write(f"{link}\n")
    return 0


async def new_link(settings: Settings, token: str) -> str:
    """Return a new link to the bot of a token, which is tried by that.

    Raises:
        ConfigError: Telegram does not accept the token, or cannot be reached.
    """
    bot = ServiceBot(token, settings.telegram_api_url.rstrip("/"))
    with silent_libraries():
        try:
            await connect(bot, patience=0)
            async with open_memory(settings.database_url) as memory:
                return await Access(memory.store, memory.locks, settings.telegram_allowed_users).link(bot.username)
        finally:
            await bot.shutdown()
