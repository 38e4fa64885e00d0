"""A Telegram bot for a service: it keeps the pace, skips updates it cannot read, and logs nothing of the library."""

import asyncio
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from typing import Any

from telegram import LinkPreviewOptions, Update
from telegram.error import BadRequest, InvalidToken, NetworkError, RetryAfter
from telegram.ext import Defaults, ExtBot
from telegram.request import BaseRequest, HTTPXRequest
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_delay, wait_exponential

from app.doors.telegram.flood_control import FloodControl, Rank

LOG = logging.getLogger(__name__)
LIBRARIES = ("telegram", "httpx", "httpcore")
SILENT = logging.CRITICAL + 1
POOL = 64
READ_TIMEOUT = 20.0
FIRST_WAIT = 1.0
"""Seconds until a failed request is made again for the first time."""
LONGEST_WAIT = 30.0
"""Seconds until it is made again at most."""


class ServiceBot(ExtBot[Rank]):
    """A bot that tells when its token is no longer valid; `request` stands in for the connections to Telegram."""

    def __init__(self, token: str, api_url: str, request: BaseRequest | None = None) -> None:
        # The library warns at every delay it reports unless the delay may be a timedelta.
        os.environ.setdefault("PTB_TIMEDELTA", "true")
        with silent_libraries():
            super().__init__(
                token,
                base_url=f"{api_url}/bot",
                base_file_url=f"{api_url}/file/bot",
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


def retrying(note: Callable[[BaseException], None], patience: float = inf) -> AsyncRetrying:
    """Return what makes a request until it succeeds, or Telegram was out of reach for `patience` seconds.

    `note` is given each failure. The last one is raised, and at once any that another try cannot mend.
    """
    return AsyncRetrying(
        retry=retry_if_exception(_passes),
        wait=wait_exponential(multiplier=FIRST_WAIT, max=LONGEST_WAIT),
        stop=stop_after_delay(patience),
        before_sleep=lambda state: note(_failure(state)),
        reraise=True,
    )


def _passes(failure: BaseException) -> bool:
    # The library makes a refused request a kind of network error.
    return isinstance(failure, RetryAfter | NetworkError) and not isinstance(failure, BadRequest)


def _failure(state: RetryCallState) -> BaseException:
    failure = state.outcome.exception() if state.outcome else None
    assert failure is not None  # only failures are waited for
    return failure


@contextmanager
def silent_libraries() -> Iterator[None]:
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
