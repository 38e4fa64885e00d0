"""A webhook: Telegram posts each update to an address of ours; it is answered when the inbox has the update.

TLS ends at a reverse proxy before it. Only the head of a request is read before its secret is checked.
"""

import asyncio
import hashlib
import hmac
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Self
from urllib.parse import urlsplit

import uvicorn
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from telegram import Update, WebhookInfo
from telegram.error import BadRequest, InvalidToken, TelegramError
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from agents.errors import ConfigError
from app.plugins.telegram.bot import ServiceBot, is_readable, note
from app.plugins.telegram.refusal import reason
from app.plugins.telegram.settings import TelegramSettings
from app.plugins.telegram.updates.polling import WANTED, Take
from app.process.tasks import BackgroundTask, cancel

LOG = logging.getLogger(__name__)
SECRET_HEADER = "x-telegram-bot-api-secret-token"
LARGEST_HEAD, LARGEST_BODY = 16_384, 1_000_000
"""The most bytes of a request's head and body; an update is far smaller."""
PATIENCE = 30.0
"""The most seconds of a connection, which has one request."""
MOST_REQUESTS = 64
"""The most connections at once; Telegram opens one at a time."""
AT_THE_END = 5.0
"""Seconds for Telegram to remove the webhook."""
LOOK = 60.0
"""Seconds between two checks of the webhook at Telegram."""


@dataclass(frozen=True)
class Hook:
    """The public address for Telegram, our own address, and the secret that proves Telegram."""

    url: str
    host: str
    port: int
    secret: str

    @classmethod
    def of(cls, settings: TelegramSettings, token: str) -> Self | None:
        """Return the webhook of the settings; None if the bot polls. A missing path and secret are made."""
        if settings.telegram_webhook_url is None:
            return None
        derived = hmac.new(token.encode(), b"webhook", hashlib.sha256).hexdigest()
        url = str(settings.telegram_webhook_url)
        secret = settings.telegram_webhook_secret
        host, _, port = settings.telegram_webhook_listen.rpartition(":")
        path = "" if urlsplit(url).path.strip("/") else f"telegram-{derived[:16]}"
        return cls(url + path, host.strip("[]"), int(port), secret.get_secret_value() if secret else derived)

    @property
    def path(self) -> bytes:
        """The path of a valid request."""
        return urlsplit(self.url).path.encode()


class Keeper(BackgroundTask):
    """Sets the webhook, and sets it again after a change from elsewhere."""

    def __init__(self, bot: ServiceBot, hook: Hook) -> None:
        self._bot, self._hook = bot, hook
        self._is_set = False
        """Whether this process has set the webhook. Another one may have left the same address with another secret."""

    async def run(self) -> None:
        """Look after the webhook until cancelled, or until Telegram no longer accepts the token."""
        while True:
            try:
                await self._keep()
            except InvalidToken:
                self._bot.refuse()
                return
            except BadRequest as refusal:
                note(refusal)
                if not self._is_set:
                    self._bot.refuse(f"TELEGRAM_WEBHOOK_URL: Telegram refuses it: {reason(refusal)}")
                    return
            except TelegramError as failure:
                note(failure)
            await asyncio.sleep(LOOK)

    async def _keep(self) -> None:
        info: WebhookInfo = await self._bot.get_webhook_info()
        if info.last_error_message and info.pending_update_count:
            LOG.warning("Telegram cannot deliver %d updates: %s", info.pending_update_count, info.last_error_message)
        if not self._is_set or info.url != self._hook.url or {*info.allowed_updates} != {*WANTED}:
            # One connection keeps the order.
            secret, url = self._hook.secret, self._hook.url
            await self._bot.set_webhook(url, max_connections=1, allowed_updates=WANTED, secret_token=secret)
            self._is_set = True


class _WebhookConnection(H11Protocol):
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the base has it
        super().connection_made(transport)
        self.loop.call_later(PATIENCE, transport.close)


class WebhookExchange:
    """Takes the updates of requests in, one after the other."""

    def __init__(self, bot: ServiceBot, take: Take, hook: Hook) -> None:
        self._bot, self._take, self._hook, self._order = bot, take, hook, asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request; a client that hangs up, or takes too long, gets no answer."""
        with suppress(ClientDisconnect):
            status = await self._status(Request(scope, receive))
            await Response(status_code=status, headers={"connection": "close"})(scope, receive, send)

    async def _status(self, request: Request) -> HTTPStatus:
        if refusal := _refusal(request, self._hook):
            return refusal
        body = bytearray()
        async for piece in request.stream():
            body += piece
            if len(body) > LARGEST_BODY:
                return HTTPStatus.REQUEST_ENTITY_TOO_LARGE
        async with self._order:
            return await _deliver(self._bot, self._take, body)


@asynccontextmanager
async def listening(bot: ServiceBot, take: Take, hook: Hook) -> AsyncIterator[None]:
    """Take updates in during the block. Raises ConfigError if the hook's own address cannot be used."""
    config = uvicorn.Config(
        WebhookExchange(bot, take, hook),
        http=_WebhookConnection,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        limit_concurrency=MOST_REQUESTS,
        h11_max_incomplete_event_size=LARGEST_HEAD,
    )
    config.load()
    state = ServerState()
    try:
        connect = partial(_WebhookConnection, config, state, {})
        server = await asyncio.get_running_loop().create_server(connect, hook.host, hook.port)
    except (OSError, OverflowError) as fault:
        raise ConfigError(f"TELEGRAM_WEBHOOK_LISTEN: cannot listen there ({fault})") from None
    try:
        async with Keeper(bot, hook):
            yield
    finally:
        server.close()
        for connection in state.connections:
            connection.shutdown()
        await cancel(state.tasks)
        # Telegram keeps new updates for a day, until the next start.
        with suppress(TelegramError, TimeoutError):
            async with asyncio.timeout(AT_THE_END):
                await bot.delete_webhook()


def _refusal(request: Request, hook: Hook) -> HTTPStatus | None:
    """Return the status that refuses a request; None if the request comes from Telegram."""
    if request.scope["raw_path"] != hook.path:
        return HTTPStatus.NOT_FOUND
    if request.method != "POST":
        return HTTPStatus.METHOD_NOT_ALLOWED
    sent_secret = request.headers.get(SECRET_HEADER, "").encode("latin-1")
    return None if hmac.compare_digest(sent_secret, hook.secret.encode()) else HTTPStatus.FORBIDDEN


async def _deliver(bot: ServiceBot, take: Take, body: bytearray) -> HTTPStatus:
    """Take an update in. An unreadable one is skipped, because Telegram would bring it for ever."""
    try:
        facts = json.loads(body)
    except (ValueError, RecursionError):
        return HTTPStatus.BAD_REQUEST
    if not isinstance(facts, dict) or not is_readable(facts):
        return HTTPStatus.OK
    try:
        await take(Update.de_json(facts, bot))
    except TelegramError:
        return HTTPStatus.SERVICE_UNAVAILABLE
    return HTTPStatus.OK
