"""A Telegram bot for a service: it skips updates that it cannot read, and the library's logs are off."""

import asyncio
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import cache
from ssl import SSLContext
from typing import Any, cast

import httpx
from telegram import Bot, LinkPreviewOptions, Update
from telegram.error import InvalidToken
from telegram.request import HTTPXRequest

LOG = logging.getLogger(__name__)
LIBRARIES = ("telegram", "httpx", "httpcore")
SILENT = logging.CRITICAL + 1
NO_PREVIEW = LinkPreviewOptions(is_disabled=True)
"""Shows no picture of the page behind a link."""
POOL = 64
READ_TIMEOUT = 20.0


class ServiceBot(Bot):
    """A bot that leaves out updates it cannot read and tells when its token is no longer valid."""

    def __init__(self, token: str, api_url: str) -> None:
        # The library warns at every delay it reports unless the delay may be a timedelta.
        os.environ.setdefault("PTB_TIMEDELTA", "true")
        with silent_libraries():
            options: dict[str, Any] = {"read_timeout": READ_TIMEOUT, "httpx_kwargs": {"verify": _certificates()}}
            super().__init__(
                token,
                base_url=f"{api_url}/bot",
                base_file_url=f"{api_url}/file/bot",
                request=HTTPXRequest(connection_pool_size=POOL, pool_timeout=READ_TIMEOUT, **options),
                get_updates_request=HTTPXRequest(connection_pool_size=2, **options),
            )
        self._refused = asyncio.Event()

    async def refused(self) -> None:
        """Wait until Telegram no longer accepts the token."""
        await self._refused.wait()

    async def get_updates(  # type: ignore[override]  # what the library's own poller asks for
        self,
        offset: int | None = None,
        timeout: float | timedelta = 0,
        allowed_updates: Sequence[str] | None = None,
        **options: object,
    ) -> tuple[Update, ...]:
        """Return the updates that can be read; the library's method fails on the whole batch if one cannot."""
        seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else timeout
        asked = {"offset": offset, "timeout": int(seconds), "allowed_updates": allowed_updates}
        try:
            batch = await self._post("getUpdates", asked, read_timeout=READ_TIMEOUT + seconds)
        except InvalidToken:
            self._refused.set()
            raise
        return tuple(self._read(update) for update in cast(list[dict[str, Any]], batch))

    def _read(self, plain: dict[str, Any]) -> Update:
        try:
            return Update.de_json(plain, self)
        except Exception as failure:
            LOG.warning("update %s cannot be read (%s)", plain.get("update_id"), type(failure).__name__)
            return Update(plain["update_id"])


@cache
def _certificates() -> SSLContext:
    """Return what checks the certificates of all connections; each client would read them anew, for 40 ms."""
    return httpx.create_ssl_context()


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
