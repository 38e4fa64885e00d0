"""Reaching Telegram for the first time, with the token of the settings."""

import logging
from math import inf

from telegram.error import Conflict, InvalidToken, TelegramError

from agents.errors import ConfigError
from app.doors.telegram.bot import ServiceBot, retrying
from app.settings import Settings

LOG = logging.getLogger(__name__)
REFUSED = "TELEGRAM_BOT_TOKEN: Telegram does not accept it (see .env.example)"


def token_of(settings: Settings) -> str:
    """Return the bot's token.

    Raises:
        ConfigError: there is none.
    """
    if settings.telegram_bot_token is None:
        raise ConfigError("TELEGRAM_BOT_TOKEN is not set (see .env.example)")
    return settings.telegram_bot_token.get_secret_value()


async def connect(bot: ServiceBot, patience: float = inf) -> None:
    """Reach Telegram within so many seconds.

    Raises:
        ConfigError: Telegram does not accept the token, or cannot be reached.
    """
    try:
        await retrying(note, patience)(bot.initialize)
    except InvalidToken:
        # Not "from": the library's own words contain the token.
        raise ConfigError(REFUSED) from None
    except TelegramError as failure:
        raise ConfigError(f"TELEGRAM_API_URL: Telegram cannot be reached ({type(failure).__name__})") from None


def note(failure: BaseException) -> None:
    """Tell the operator why no messages come."""
    if isinstance(failure, Conflict):
        LOG.error("another process asks for the messages of the same bot")
    else:
        LOG.warning("no messages from Telegram (%s); trying again", type(failure).__name__)
