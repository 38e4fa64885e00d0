"""The server of the HTTP door, with limits on the time and the number of connections without a whole request."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from socket import socket
from typing import ClassVar

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

PATIENCE = 120.0
"""Deadline for the arrival of a request, head and body, in seconds."""
KEEP_ALIVE = 75
"""Seconds for which an idle connection stays open: longer than at clients, which would send into a closed one."""
MOST_UNFINISHED = 600
"""Limit of connections of this process that wait for a request; beyond it the oldest closes."""


class _Connection(H11Protocol):
    """A connection that closes when its request does not come, or when too many others wait for theirs."""

    unfinished: ClassVar[dict["_Connection", asyncio.TimerHandle]] = {}
    """The waiting connections of this process, the oldest first, each with the timer that closes it."""

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
    """A server that leaves signals to us: a second handler would stop the process before its answers have ended."""

    def __init__(self, app: FastAPI, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._app = app

    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        """End the event streams, which never end by themselves, then wait for the other responses."""
        await self._app.state.streams.close()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture no signals."""
        yield


def make_server(app: FastAPI, host: str, port: int, *, patience: int) -> Server:
    """Return a server; at its end its responses have `patience` seconds to finish."""
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
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=patience,
        h11_max_incomplete_event_size=64 * 1024,
    )
    return Server(app, config)
