"""The bot's connection to Telegram: it tries again, skips updates it cannot read, and silences the library's log."""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from math import inf
from typing import Any

from httpx import InvalidURL
from pydantic import SecretStr
from telegram import LinkPreviewOptions, Update
from telegram.error import BadRequest, Conflict, InvalidToken, NetworkError, RetryAfter, TelegramError
from telegram.ext import Defaults, ExtBot
from telegram.request import BaseRequest, HTTPXRequest
from tenacity import AsyncRetrying, retry_if_exception, stop_after_delay, wait_exponential

from agents.errors import ConfigError
from app.plugins.telegram.flood_control import FloodControl, Rank
from app.plugins.telegram.refusal import reason
from app.plugins.telegram.settings import TelegramSettings

LOG = logging.getLogger(__name__)
LIBRARIES = ("telegram", "httpx", "httpcore")
SILENT = logging.CRITICAL + 1
POOL = 64
READ_TIMEOUT = 20.0
USUAL = (400, 401, 403, 404, 408, 409, 425, 429)
"""The statuses of refusals that the library knows, and of passing ones."""
FIRST_WAIT, LONGEST_WAIT = 1.0, 30.0
"""Seconds until the next try of a failed request: the first time, and at most."""
REFUSED = "TELEGRAM_BOT_TOKEN: Telegram does not accept it (see .env.example)"


class ServiceBot(ExtBot[Rank]):
    """A bot that reports a token that is no longer valid; `request` replaces the connections to Telegram."""

    def __init__(
        self, token: str, api_url: str, request: BaseRequest | None = None, *, proxy: SecretStr | None = None
    ) -> None:
        through = proxy.get_secret_value() if proxy else None
        # Without this, the library warns at every delay that it reports.
        os.environ.setdefault("PTB_TIMEDELTA", "true")
        # Its log names the token in addresses, and quotes messages.
        for name in LIBRARIES:
            logging.getLogger(name).setLevel(SILENT)
        super().__init__(
            token,
            base_url=f"{api_url.rstrip('/')}/bot",
            base_file_url=f"{api_url.rstrip('/')}/file/bot",
            request=request
            or CallRequest(
                connection_pool_size=POOL, pool_timeout=READ_TIMEOUT, read_timeout=READ_TIMEOUT, proxy=through
            ),
            get_updates_request=UpdatesRequest(connection_pool_size=2, read_timeout=READ_TIMEOUT, proxy=through),
            defaults=Defaults(link_preview_options=LinkPreviewOptions(is_disabled=True)),
            rate_limiter=FloodControl(),
        )
        self._refused = asyncio.Event()
        self._refusal = ""

    async def refused(self) -> str:
        """Wait until Telegram no longer accepts the token or the webhook; return the fault for the operator."""
        await self._refused.wait()
        return self._refusal

    def refuse(self, refusal: str = REFUSED) -> None:
        """Note that Telegram no longer accepts the token, or the webhook."""
        self._refusal = refusal
        self._refused.set()


class CallRequest(HTTPXRequest):
    """Makes calls. A status unknown to Telegram, as a proxy's 413, is a refusal, so the call is not tried again."""

    async def do_request(self, *args: Any, **options: Any) -> tuple[int, bytes]:
        """Return status and body; 400 replaces a status that another try would bring again."""
        status, body = await super().do_request(*args, **options)
        is_unusual = 300 <= status < 500 and status not in USUAL
        return (HTTPStatus.BAD_REQUEST if is_unusual else status), body


class UpdatesRequest(HTTPXRequest):
    """Asks for updates. With the library's own class, one unreadable update would make a whole batch fail."""

    @staticmethod
    def parse_json_payload(payload: bytes) -> dict[str, object]:
        """Return Telegram's answer; an unreadable update keeps only its number."""
        answer = HTTPXRequest.parse_json_payload(payload)
        updates = answer.get("result")
        if isinstance(updates, list):
            answer["result"] = [
                update if is_readable(update) else {"update_id": update["update_id"]} for update in updates
            ]
        return answer


def is_readable(update: dict[str, object]) -> bool:
    """Tell whether the library can read an update; the log names each unreadable one."""
    try:
        Update.de_json(update)
    except Exception as failure:
        LOG.warning("update %s cannot be read (%s)", update.get("update_id"), type(failure).__name__)
        return False
    return True


def retrying(note: Callable[[BaseException | None], None], patience: float = inf) -> AsyncRetrying:
    """Return a retrier: it repeats a request until success, or until `patience` seconds are over.

    `note` gets each failure. The last failure is raised. A failure that another try cannot mend is raised at once.
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


def token_of(settings: TelegramSettings) -> str:
    """Return the bot's token. Raises ConfigError if there is none."""
    if not settings.token:
        raise ConfigError("TELEGRAM_BOT_TOKEN is not set (see .env.example)")
    return settings.token


def bot_of(settings: TelegramSettings) -> ServiceBot:
    """Return the bot of the settings. Raises ConfigError if there is no token, or the proxy cannot be used."""
    token = token_of(settings)
    try:
        return ServiceBot(token, settings.telegram_api_url, proxy=settings.telegram_proxy)
    except (ValueError, RuntimeError, InvalidURL):
        # The library's words may hold the proxy's password.
        raise ConfigError("TELEGRAM_PROXY: write http://HOST:PORT (socks5:// needs httpx[socks])") from None


@asynccontextmanager
async def connected(bot: ServiceBot, patience: float = inf) -> AsyncIterator[None]:
    """Connect to Telegram within `patience` seconds, for the block.

    Raises ConfigError if Telegram does not accept the token, or cannot be reached.
    """
    try:
        try:
            await retrying(note, patience)(bot.initialize)
        except InvalidToken:
            # Not "from": the library's own words contain the token.
            raise ConfigError(REFUSED) from None
        except TelegramError as failure:
            raise ConfigError(f"TELEGRAM_API_URL: Telegram cannot be reached ({type(failure).__name__})") from None
        yield
    finally:
        await bot.shutdown()


def note(failure: BaseException | None) -> None:
    """Log the reason why no messages come."""
    if isinstance(failure, Conflict):
        LOG.error("another process asks for the messages of the same bot")
    else:
        LOG.warning("no messages from Telegram (%s); trying again", reason(failure))
