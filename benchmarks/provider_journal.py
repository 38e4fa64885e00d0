"""The journal of the providers' servers: their notes about each request, over HTTP."""

import asyncio
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

import httpx

PATIENCE = 20.0
"""Seconds until a server has noted the end of a request."""
BETWEEN = 0.02
"""Seconds between two looks at the journal."""


@dataclass(frozen=True)
class Request:
    """A request in its server's journal."""

    number: int
    verdict: str
    """ok, refused, busy, down, overflow, failed, broken or left; open: it has not ended yet."""
    rule: str
    words: str
    """The server's words about a refused request."""
    body: str = ""
    """The request itself, as JSON."""

    @classmethod
    def of(cls, entry: dict[str, Any]) -> Self:
        """Return an entry of the journal as a request."""
        body = json.dumps(entry["body"]) if "body" in entry else ""
        words = json.dumps(entry.get("message") or "", ensure_ascii=False)
        return cls(entry["n"], entry["verdict"], entry["rule"] or f"HTTP {entry['status']}", words, body)


class Journal:
    """The journal of a server; each look returns only the entries since the last one, the first since its opening."""

    def __init__(self, url: str, client: httpx.AsyncClient) -> None:
        self._address, self._client = f"{url}/journal", client
        self._last = 0

    async def open(self) -> None:
        """Skip the entries so far."""
        self._last = max((request.number for request in await self._all()), default=0)

    async def new(self, *, whole: bool = False) -> Sequence[Request]:
        """Return the requests since the last look, once each has ended or the patience is over; `whole` with bodies."""
        noted = await self._since(whole)
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                while any(request.verdict == "open" for request in noted):
                    await asyncio.sleep(BETWEEN)
                    noted = await self._since(whole)
        self._last = max((request.number for request in noted), default=self._last)
        return noted

    async def _since(self, whole: bool) -> list[Request]:
        return [request for request in await self._all(whole) if request.number > self._last]

    async def _all(self, whole: bool = False) -> list[Request]:
        answer = await self._client.get(self._address, params={"full": "1"} if whole else {})
        return [Request.of(json.loads(line)) for line in answer.text.splitlines()]

    async def clear(self) -> None:
        """Let the server forget its journal."""
        await self._client.delete(self._address)
        self._last = 0
