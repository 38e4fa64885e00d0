"""The webhook of another assistant over HTTP, with the answers of a test, right or wrong."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Self

from tests.support.loopback import listening
from tests.support.odd_provider import read_request
from tests.support.simulated_time import advance

LONG = 10.0
"""More seconds than any client of these tests waits; fewer than a tool may take."""


@dataclass
class Webhook:
    """A webhook that answers every request with `status`, `headers` and `body`; without a status it gives no answer."""

    body: bytes = b""
    status: int | None = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    url: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)
    """The bodies of the requests."""
    heads: list[str] = field(default_factory=list)
    """Their first lines and headers."""

    @classmethod
    @asynccontextmanager
    async def open(cls, body: Any = b"", status: int | None = 200, **headers: str) -> AsyncIterator[Self]:
        """Listen on a port of its own; a body that is not bytes is sent as JSON."""
        payload = body if isinstance(body, bytes) else json.dumps(body).encode()
        hook = cls(payload, status, headers)
        async with listening(hook._serve) as address:
            hook.url = f"{address}/ask"
            yield hook

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            head, asked = await read_request(reader)
            self.heads.append(head)
            self.asked.append(asked)
            if self.status is None:
                # The clock jumps; the client gives up and hangs up.
                advance(LONG)
                await reader.read()
            else:
                more = "".join(f"{name}: {value}\r\n" for name, value in self.headers.items())
                start = f"HTTP/1.1 {self.status} X\r\ncontent-length: {len(self.body)}\r\n{more}\r\n"
                writer.write(start.encode() + self.body)
                await writer.drain()
        writer.close()
