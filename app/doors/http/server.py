"""The server of the HTTP door; a connection that has brought no whole request is bounded in time and in number."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from socket import socket
from typing import ClassVar

import uvicorn
from fastapi import FastAPI
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

PATIENCE = 120.0
"""Seconds in which a request must be here, head and body."""
MOST_UNFINISHED = 400
"""Connections of this process that wait for a request; the oldest makes room for a new one."""


class _Connection(H11Protocol):
    """Is closed when its request does not come, or when too many others wait for theirs."""

    unfinished: ClassVar[dict["_Connection", asyncio.TimerHandle]] = {}
    """The connections of this process that wait, the oldest first, and what closes each."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the base has it
        super().connection_made(transport)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._leave()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def _watch(self) -> None:
        if self.cycle and not (self.cycle.more_body or self.cycle.response_complete):
            self._leave()
        elif self not in self.unfinished and not self.transport.is_closing():
            if len(self.unfinished) >= MOST_UNFINISHED:
                next(iter(self.unfinished)).transport.close()
            self.unfinished[self] = self.loop.call_later(PATIENCE, self.transport.close)

    def _leave(self) -> None:
        if timer := self.unfinished.pop(self, None):
            timer.cancel()


class Server(uvicorn.Server):
    """Leaves signals to us: a second handler would stop the process before its answers have ended."""

    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        """End the streams that would never end by themselves, then wait for the rest."""
        if isinstance(self.config.app, FastAPI):
            await self.config.app.state.streams.close()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


def make_server(app: ASGIApp, host: str, port: int, *, patience: int) -> Server:
    """Return a server, which at its end gives its answers so many seconds."""
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        http=_Connection,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="off",
        timeout_graceful_shutdown=patience,
        h11_max_incomplete_event_size=64 * 1024,
    )
    return Server(config)
