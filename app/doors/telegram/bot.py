"""The bot as a service: it is reached, keeps the pace, skips updates it cannot read, logs nothing of the library."""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from math import inf
from typing import Any

from telegram import LinkPreviewOptions, Update
from telegram.error import BadRequest, Conflict, InvalidToken, NetworkError, RetryAfter, TelegramError
from telegram.ext import Defaults, ExtBot
from telegram.request import BaseRequest, HTTPXRequest
from tenacity import AsyncRetrying, retry_if_exception, stop_after_delay, wait_exponential

from agents.errors import ConfigError
from app.doors.telegram.flood_control import FloodControl, Rank
from app.settings import Settings

LOG = logging.getLogger(__name__)
LIBRARIES = ("telegram", "httpx", "httpcore")
SILENT = logging.CRITICAL + 1
POOL = 64
READ_TIMEOUT = 20.0
FIRST_WAIT, LONGEST_WAIT = 1.0, 30.0
"""Seconds until a failed request is made again: the first time, and at most."""
REFUSED = "TELEGRAM_BOT_TOKEN: Telegram does not accept it (see .env.example)"


class ServiceBot(ExtBot[Rank]):
    """A bot that tells when its token is no longer valid; `request` stands in for the connections to Telegram."""

    def __init__(self, token: str, api_url: str, request: BaseRequest | None = None) -> None:
        # The library warns at every delay it reports unless the delay may be a timedelta.
        os.environ.setdefault("PTB_TIMEDELTA", "true")
        with _silent_libraries():
            super().__init__(
                token,
                base_url=f"{api_url.rstrip('/')}/bot",
                base_file_url=f"{api_url.rstrip('/')}/file/bot",
                request=request
                or HTTPXRequest(connection_pool_size=POOL, pool_timeout=READ_TIMEOUT, read_timeout=READ_TIMEOUT),
                get_updates_request=UpdatesRequest(connection_pool_size=2, read_timeout=READ_TIMEOUT),
                defaults=Defaults(link_preview_options=LinkPreviewOptions(is_disabled=True)),
                rate_limiter=FloodControl(),
            )
        self._refused = asyncio.Event()

    async def refused(self) -> None:
        """Wait until Telegram no longer accepts the token."""
        await self._refused.wait()

    async def get_updates(self, *args: Any, **options: Any) -> tuple[Update, ...]:
        """Return the next updates."""
        try:
            return await super().get_updates(*args, **options)
        except InvalidToken:
            self._refused.set()
            raise


class UpdatesRequest(HTTPXRequest):
    """Asks for updates; one that cannot be read would make the library fail on all that come with it."""

    @staticmethod
    def parse_json_payload(payload: bytes) -> dict[str, Any]:
        """Return Telegram's answer, with nothing but their numbers of updates that cannot be read."""
        answer = HTTPXRequest.parse_json_payload(payload)
        updates = answer.get("result")
        if isinstance(updates, list):
            answer["result"] = [
                update if _is_readable(update) else {"update_id": update["update_id"]} for update in updates
            ]
        return answer


def _is_readable(update: dict[str, Any]) -> bool:
    try:
        Update.de_json(update)
    except Exception as failure:
        LOG.warning("update %s cannot be read (%s)", update.get("update_id"), type(failure).__name__)
        return False
    return True


def retrying(note: Callable[[BaseException | None], None], patience: float = inf) -> AsyncRetrying:
    """Return what makes a request until it succeeds, or Telegram was out of reach for `patience` seconds.

    `note` is given each failure. The last one is raised, and at once any that another try cannot mend.
    """
    return AsyncRetrying(
        retry=retry_if_exception(_passes),
        wait=wait_exponential(multiplier=FIRST_WAIT, max=LONGEST_WAIT),
        stop=stop_after_delay(patience),
        before_sleep=lambda state: note(state.outcome.exception() if state.outcome else None),
        reraise=True,
    )


def _passes(failure: BaseException) -> bool:
    # The library makes a refused request a kind of network error.
    return isinstance(failure, RetryAfter | NetworkError) and not isinstance(failure, BadRequest)


@contextmanager
def _silent_libraries() -> Iterator[None]:
    """Keep the library's log silent during the block: it names the token in addresses, and quotes messages."""
    loggers = [logging.getLogger(name) for name in LIBRARIES]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(SILENT)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def token_of(settings: Settings) -> str:
    """Return the bot's token.

    Raises:
        ConfigError: there is none.
    """
    if settings.telegram_bot_token is None:
        raise ConfigError("TELEGRAM_BOT_TOKEN is not set (see .env.example)")
    return settings.telegram_bot_token.get_secret_value()


@asynccontextmanager
async def connected(bot: ServiceBot, patience: float = inf) -> AsyncIterator[None]:
    """Reach Telegram within `patience` seconds, and be connected during the block.

    Raises:
        ConfigError: Telegram does not accept the token, or cannot be reached.
    """
    with _silent_libraries():
        try:
            await _connect(bot, patience)
            yield
        finally:
            await bot.shutdown()


async def _connect(bot: ServiceBot, patience: float) -> None:
    try:
        await retrying(note, patience)(bot.initialize)
    except InvalidToken:
        # Not "from": the library's own words contain the token.
        raise ConfigError(REFUSED) from None
    except TelegramError as failure:
        raise ConfigError(f"TELEGRAM_API_URL: Telegram cannot be reached ({type(failure).__name__})") from None


def note(failure: BaseException | None) -> None:
    """Tell the operator why no messages come."""
    if isinstance(failure, Conflict):
        LOG.error("another process asks for the messages of the same bot")
    else:
        LOG.warning("no messages from Telegram (%s); trying again", type(failure).__name__)
