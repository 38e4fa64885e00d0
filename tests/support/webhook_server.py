"""The webhook of another assistant over HTTP, with the answers of a test, right or wrong."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Self

from tests.support.http_service import Answer, Asked, Service

LONG = 10.0
"""More seconds than any client of these tests waits; fewer than a tool may take."""


@dataclass
class Webhook:
    """A webhook that answers every request with `status`, `headers` and `body`; without a status it gives no answer."""

    service: Service

    @classmethod
    @asynccontextmanager
    async def open(cls, body: Any = b"", status: int | None = 200, **headers: str) -> AsyncIterator[Self]:
        """Listen on a port of its own; a body that is not bytes is sent as JSON."""
        answer = Answer(body, status or 200, headers, comes_after=0 if status else LONG)
        async with Service.open(answer) as service:
            yield cls(service)

    @property
    def url(self) -> str:
        """Its address."""
        return f"{self.service.url}/ask"

    @property
    def asked(self) -> list[Asked]:
        """The requests."""
        return self.service.asked
